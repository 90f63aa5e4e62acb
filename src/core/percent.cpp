#include "core/percent.hpp"

#include "core/ascii.hpp"

#include <charconv>

namespace beckon::core {

std::string percent_encoded(std::string_view text) {
    constexpr const char* kDigits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        if (is_alphanumeric({&c, 1}, "-._~")) {
            out.push_back(c);
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out.push_back('%');
        out.push_back(kDigits[byte >> 4]);
        out.push_back(kDigits[byte & 15]);
    }
    return out;
}

std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned char byte = 0;
        const char* digits = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() &&
            std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
            out.push_back(static_cast<char>(byte));
            i += 2;
        } else {
            out.push_back(text[i]);
        }
    }
    return out;
}

}  // namespace beckon::core
