#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace beckon::edge {

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

}  // namespace beckon::edge
