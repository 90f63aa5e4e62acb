#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

/// The values of an enum and their names, which are the identifiers of the source: `not_found` for
/// Fault::not_found. For enums whose values are 0, 1, 2, …; each use is its own promise that the
/// identifiers do not change, since logs, metrics, APIs and records show them.
namespace beckon::core {

namespace detail {

/// The identifier of a value; empty if the enum has no such value. GCC and Clang end the name of
/// this function with `value = beckon::core::Fault::full]` (GCC with `;` and more behind it), and
/// write a value that has no identifier as a cast: `(beckon::core::Fault)10`.
template <auto value>
consteval std::string_view identifier() {
    std::string_view text{__PRETTY_FUNCTION__};
    text.remove_prefix(text.find("value = "));
    text = text.substr(0, text.find_first_of(";]"));
    text.remove_prefix(text.find_last_of(":)") + 1);
    return text.front() >= '0' && text.front() <= '9' ? std::string_view{} : text;
}

template <class Enum, std::size_t known = 0>
consteval std::size_t count() {
    if constexpr (identifier<static_cast<Enum>(known)>().empty()) {
        return known;
    } else {
        return count<Enum, known + 1>();
    }
}

template <class Enum, std::size_t... i>
consteval auto values(std::index_sequence<i...> /*all*/) {
    return std::array<Enum, sizeof...(i)>{static_cast<Enum>(i)...};
}

template <class Enum, std::size_t... i>
consteval auto names(std::index_sequence<i...> /*all*/) {
    return std::array<std::string_view, sizeof...(i)>{identifier<static_cast<Enum>(i)>()...};
}

}  // namespace detail

template <class Enum>
inline constexpr std::size_t kCountOf = detail::count<Enum>();

/// All values, in their order.
template <class Enum>
inline constexpr auto kValuesOf = detail::values<Enum>(std::make_index_sequence<kCountOf<Enum>>{});

template <class Enum>
inline constexpr auto kNamesOf = detail::names<Enum>(std::make_index_sequence<kCountOf<Enum>>{});

/// Not terminated by a null character.
template <class Enum>
constexpr std::string_view name_of(Enum value) {
    const auto index = static_cast<std::size_t>(value);
    return index < kCountOf<Enum> ? kNamesOf<Enum>[index] : "unknown";
}

/// nullopt: no value has this name.
template <class Enum>
constexpr std::optional<Enum> value_named(std::string_view name) {
    for (const Enum value : kValuesOf<Enum>) {
        if (name_of(value) == name) return value;
    }
    return std::nullopt;
}

/// One value for each value of an enum, in their order. For enums as above.
template <class Enum, class Value>
struct ByEnum {
    std::array<Value, kCountOf<Enum>> values{};

    Value& operator[](Enum at) { return values[static_cast<std::size_t>(at)]; }
    const Value& operator[](Enum at) const { return values[static_cast<std::size_t>(at)]; }
    auto begin() { return values.begin(); }
    auto begin() const { return values.begin(); }
    auto end() { return values.end(); }
    auto end() const { return values.end(); }
    bool operator==(const ByEnum&) const = default;
};

}  // namespace beckon::core
