#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "retry/tiers/delivery.hpp"

namespace beckon::retry {

/// Where a delivery stands in the log while it is in the window.
struct Ticket {
    core::Partition partition = 0;
    core::Epoch epoch = 0;  ///< of the lease under which it was handed on
    int tier = 0;
    core::Offset offset = 0;
    auto operator<=>(const Ticket&) const = default;
};

/// A delivery whose time has come.
struct Due {
    Ticket ticket;
    Delivery delivery;
    core::Timestamp due{};
    core::Timestamp now{};  ///< the log's time when it was handed on, at least
};

}  // namespace beckon::retry
