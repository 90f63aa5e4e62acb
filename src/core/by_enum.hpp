#pragma once

#include "core/enum_names.hpp"

#include <array>
#include <cstddef>

namespace beckon::core {

/// One value for each value of an enum, in their order. For enums as core/enum_names.hpp has them.
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
