#include "core/milestone.hpp"

#include "core/ascii.hpp"

namespace beckon::core {

bool is_terminal(Milestone milestone) {
    switch (milestone) {
        case Milestone::received:
        case Milestone::stored:
        case Milestone::retrieved:
        case Milestone::int_transmitted:
        case Milestone::int_accepted:
        case Milestone::transmitted:
        case Milestone::accepted: return false;
        case Milestone::bridge_transmitted:
        case Milestone::delivered:
        case Milestone::decryption_error:
        case Milestone::not_delivered:
        case Milestone::expired:
        case Milestone::errored:
        case Milestone::replaced:
        case Milestone::deleted: return true;
    }
    return true;
}

bool is_reliability_id(std::string_view text) {
    return !text.empty() && text.size() <= kReliabilityIdBytesMax &&
           is_alphanumeric(text, "-_.:~+/=@");
}

}  // namespace beckon::core
