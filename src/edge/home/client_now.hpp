#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

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

/// An edge's present knowledge of one client, which the log does not have.
struct ClientNow {
    /// So many unanswered messages are named in `sent`; `unanswered` counts all.
    static constexpr std::size_t kNamedMax = 100;

    bool served = false;  ///< this edge is the home of the client, and serves it
    /// Since when the client is attached to this home; its connection may be older, since a home
    /// that takes over attaches it anew. nullopt: it is not connected.
    std::optional<core::Timestamp> attached_since{};
    core::NodeId edge{};         ///< the node that holds its connection, if it is connected
    std::size_t unanswered = 0;  ///< messages that were sent on it and wait for their ack
    std::vector<std::pair<core::MessageKey, core::Timestamp>>
        sent{};  ///< with the time of sending, the oldest first
    bool operator==(const ClientNow&) const = default;
};

/// The outcome of the removal of a client, by an operator.
struct ClientRemoval {
    bool served = false;   ///< this edge is the home of the client, and serves it
    bool removed = false;  ///< the log has the client's tombstone, and its messages are finished
};

}  // namespace beckon::edge
