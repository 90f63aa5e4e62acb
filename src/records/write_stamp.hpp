#pragma once

#include "core/ids.hpp"

#include <compare>
#include <cstdint>

namespace beckon::core {

/// Orders the writes to one key of `subscriptions` (docs/design.md#late-writes): the greater
/// (epoch, seq) wins. Records of bridged clients carry none and fold in offset order.
struct WriteStamp {
    Epoch epoch = 0;
    std::uint64_t seq = 0;
    auto operator<=>(const WriteStamp&) const = default;
};

}  // namespace beckon::core
