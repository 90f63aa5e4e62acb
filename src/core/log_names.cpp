#include "core/log_names.hpp"

#include "core/tokens.hpp"

namespace beckon::core {

namespace {

constexpr std::size_t kClientDigits = 12;

}  // namespace

std::string log_name(const Uaid& client) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string name;
    for (const auto byte : sha256(to_hex(client))) {
        name.push_back(kDigits[byte >> 4]);
        name.push_back(kDigits[byte & 15]);
        if (name.size() == kClientDigits) break;
    }
    return name;
}

std::string log_name(const MessageKey& message) { return to_hex(message); }

}  // namespace beckon::core
