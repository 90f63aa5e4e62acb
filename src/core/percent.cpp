#include "core/percent.hpp"

#include "core/ascii.hpp"

#include <charconv>
#include <cstddef>
#include <optional>

namespace beckon::core {

namespace {

constexpr std::string_view kOfPathAndQuery = "-._~!$&'()*+,;=:@/?";

void append_encoded(std::string& out, char c) {
    constexpr const char* kDigits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
}

std::optional<char> octet_at(std::string_view text, std::size_t percent) {
    unsigned char byte = 0;
    if (percent + 2 >= text.size()) return std::nullopt;
    const char* digits = text.data() + percent + 1;
    if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return std::nullopt;
    return static_cast<char>(byte);
}

}  // namespace

std::string percent_encoded(std::string_view text, std::string_view others) {
    std::string out;
    for (const char c : text) {
        is_alphanumeric({&c, 1}, others) ? out.push_back(c) : append_encoded(out, c);
    }
    return out;
}

std::string percent_completed(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool stays = is_alphanumeric({&c, 1}, kOfPathAndQuery) ||
                           (c == '%' && octet_at(text, i).has_value());
        stays ? out.push_back(c) : append_encoded(out, c);
    }
    return out;
}

std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto octet = text[i] == '%' ? octet_at(text, i) : std::nullopt;
        out.push_back(octet.value_or(text[i]));
        if (octet) i += 2;
    }
    return out;
}

}  // namespace beckon::core
