#pragma once

#include "core/clock.hpp"

#include <optional>

namespace beckon::edge {

/// An edge's present knowledge of one message, which the log does not have.
struct DeliveryNow {
    bool served = false;     ///< this edge is the home of its client, and serves it
    bool connected = false;  ///< the client is attached
    /// When the message was sent on the client's connection, if its answer is awaited.
    std::optional<core::Timestamp> sent{};
    bool operator==(const DeliveryNow&) const = default;
};

}  // namespace beckon::edge
