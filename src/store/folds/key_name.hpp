#pragma once

#include "core/ids.hpp"

#include <compare>
#include <cstddef>
#include <functional>

namespace beckon::store {

/// A message by its client and key.
struct KeyName {
    core::Uaid uaid;
    core::MessageKey key;
    auto operator<=>(const KeyName&) const = default;
};

struct KeyHash {
    std::size_t operator()(const KeyName& name) const noexcept {
        return std::hash<core::MessageKey>{}(name.key) ^ std::hash<core::Uaid>{}(name.uaid);
    }
};

}  // namespace beckon::store
