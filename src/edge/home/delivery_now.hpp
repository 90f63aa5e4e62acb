#pragma once

#include "core/clock.hpp"

#include <optional>

namespace beckon::edge {

/// What an edge knows now of one message, beyond what the log says.
struct DeliveryNow {
    bool served = false;     ///< this edge is the home of its client, and serves it
    bool connected = false;  ///< the client is attached
    /// When the message was sent on the client's connection, if its answer is awaited.
    std::optional<core::Timestamp> sent{};
    bool operator==(const DeliveryNow&) const = default;
};

}  // namespace beckon::edge
