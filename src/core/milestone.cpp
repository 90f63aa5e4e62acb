#include "core/milestone.hpp"

#include <algorithm>

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
    static constexpr std::string_view kOthers = "-_.:~+/=@";
    if (text.empty() || text.size() > kReliabilityIdBytesMax) return false;
    return std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               kOthers.find(c) != std::string_view::npos;
    });
}

}  // namespace beckon::core
