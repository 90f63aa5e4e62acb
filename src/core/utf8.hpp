#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace beckon::core {

/// Whether the bytes are UTF-8 (RFC 3629): no overlong form, no surrogate, nothing above U+10FFFF.
/// Pure, any thread.
constexpr bool is_utf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<std::uint8_t>(text[i++]);
        if (lead < 0x80) continue;
        if (lead < 0xc2 || lead > 0xf4) return false;
        const std::size_t more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
        if (text.size() - i < more) return false;
        const auto second = static_cast<std::uint8_t>(text[i]);
        const std::uint8_t least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
        const std::uint8_t most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        if (second < least || second > most) return false;
        for (std::size_t j = 1; j < more; ++j) {
            if ((static_cast<std::uint8_t>(text[i + j]) & 0xc0) != 0x80) return false;
        }
        i += more;
    }
    return true;
}

}  // namespace beckon::core
