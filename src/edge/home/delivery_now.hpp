#pragma once

#include "core/clock.hpp"

#include <optional>

namespace beckon::edge {

/// An edge's present knowledge of one message, which the log does not have.
struct DeliveryNow {
    bool served = false;     ///< this edge is the home of its client, and serves it
    bool connected = false;  ///< the client is attached
    /// When the message was sent and not answered, as far as this process knows.
    std::optional<core::Timestamp> sent{};
    bool on_earlier_connection = false;  ///< which has ended, so no answer is awaited
    /// It was answered, and its tombstone is on the way to the log.
    bool answered = false;
    bool operator==(const DeliveryNow&) const = default;
};

}  // namespace beckon::edge
