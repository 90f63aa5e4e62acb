#include "core/terminal_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

namespace beckon::core {

namespace {

bool is_obeyed(char32_t c) {
    const bool control = c < 0x20 || (c >= 0x7f && c <= 0x9f);
    const bool bidirectional = c == 0x61c || c == 0x200e || c == 0x200f ||
                               (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    return control || bidirectional;
}

void append_escaped(std::string& out, char32_t c) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "\\u%04x", static_cast<unsigned>(c));
    out.append(text.data());
}

}  // namespace

Character first_character(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
    char32_t code = lead & (0x7fU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return {};
        code = (code << 6) | (byte(i) & 0x3fU);
    }
    constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    if (code < kLeast[bytes] || code > 0x10ffff || surrogate) return {};
    return {code, bytes};
}

bool has_terminal_control(std::string_view text) {
    while (!text.empty()) {
        const auto next = first_character(text);
        if (is_obeyed(next.code)) return true;
        text.remove_prefix(next.bytes);
    }
    return false;
}

std::string terminal_text(std::string_view text) {
    const auto plain = [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; };
    if (std::all_of(text.begin(), text.end(), plain)) return std::string{text};
    std::string out;
    while (!text.empty()) {
        const auto next = first_character(text);
        const auto bytes = text.substr(0, next.bytes);
        if (is_obeyed(next.code) && next.code != '\n' && next.code != '\t') {
            append_escaped(out, next.code);
        } else {
            out.append(next.is_invalid() ? std::string_view{"\xef\xbf\xbd"} : bytes);
        }
        text.remove_prefix(next.bytes);
    }
    return out;
}

}  // namespace beckon::core
