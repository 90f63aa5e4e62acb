#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::core {

/// The number that the whole text is, in decimal digits, a minus before them where Int has a sign;
/// nullopt: it is anything else, or does not fit. Any thread.
template <std::integral Int>
std::optional<Int> parse_decimal(std::string_view text) {
    Int number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// "1 channel", "3 channels". Any thread.
inline std::string counted(std::size_t number, std::string_view one, std::string_view many) {
    return std::to_string(number).append(" ").append(number == 1 ? one : many);
}

}  // namespace beckon::core
