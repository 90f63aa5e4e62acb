#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::core {

/// `value` as a whole number that an Int can hold; nullopt: it is none. The accessors of the JSON
/// library convert: a fraction is cut off, a number that is too large for Int becomes another one,
/// and that of a large fraction is undefined.
template <std::integral Int, class AnyJson>
std::optional<Int> find_whole_number(const AnyJson& value) {
    if (value.is_number_unsigned()) {
        const auto number = value.template get<std::uint64_t>();
        if (std::in_range<Int>(number)) return static_cast<Int>(number);
    } else if (value.is_number_integer()) {
        const auto number = value.template get<std::int64_t>();
        if (std::in_range<Int>(number)) return static_cast<Int>(number);
    }
    return std::nullopt;
}

/// The same, or an exception as the accessors of the JSON library throw it.
template <std::integral Int, class AnyJson>
Int whole_number(const AnyJson& value) {
    if (const auto number = find_whole_number<Int>(value)) return *number;
    throw AnyJson::other_error::create(501, "not a whole number that fits", &value);
}

/// That of a member of `object`, or `otherwise` if there is none.
template <std::integral Int, class AnyJson>
Int whole_number(const AnyJson& object, const char* name, Int otherwise) {
    const auto at = object.find(name);
    return at == object.end() ? otherwise : whole_number<Int>(*at);
}

}  // namespace beckon::core
