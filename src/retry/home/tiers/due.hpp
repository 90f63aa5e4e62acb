#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "records/delivery.hpp"

#include <cstddef>

namespace beckon::retry {

/// A delivery's place in the log while it is in the window.
struct Ticket {
    core::Partition partition = 0;
    core::Epoch epoch = 0;  ///< of the lease under which it was handed on
    int tier = 0;
    core::Offset offset = 0;
    auto operator<=>(const Ticket&) const = default;
};

/// A due delivery.
struct Due {
    Ticket ticket;
    Delivery delivery;
    core::Timestamp due{};
    core::Timestamp now{};  ///< the log's time when it was handed on, at least
    core::MonoTime handed_on{};
};

/// The log's time now, at least. Ages of deliveries and failures are differences of log times: the
/// host's wall clock may be wrong by days.
inline core::Timestamp log_now(const Due& due, core::MonoTime now) {
    return due.now + std::chrono::floor<std::chrono::milliseconds>(now - due.handed_on);
}

/// The bytes of a window that a delivery holds: its event, and an estimate for the rest.
inline std::size_t bytes_in_window(const Delivery& delivery) { return delivery.event.size() + 256; }

}  // namespace beckon::retry
