#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/key_ring.hpp"
#include "core/lifetime.hpp"
#include "edge/edge_metrics.hpp"
#include "edge/edge_options.hpp"
#include "edge/link/links.hpp"
#include "edge/switchboard/switchboard.hpp"
#include "records/ownership.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace beckon::edge {

/// The links of an edge: passes their messages to the switchboard, and knows and counts the nodes
/// that they reach. On the control thread, but for its making and its end.
class EdgeLinks {
public:
    struct Context {
        Switchboard& board;  ///< gets the links as its way to other nodes
        const LinkMetrics& metrics;
        core::Lifetime::Remote control;  ///< ends before this does
        std::function<void()> changed;   ///< another node is reached, or one less
        /// Calls to a node that has no link were refused (Links::Events::dead).
        std::function<void(const core::NodeId&)> dead;
    };

    /// Listens, before the loops run. Throws std::runtime_error naming host, port and cause.
    EdgeLinks(const EdgeOptions& options, std::shared_ptr<const core::KeyRing> keys,
              const core::Clock& clock, Context context);

    std::uint16_t port() const { return links_.port(); }
    /// Every node knows the address of every other one; the links decide between two calls.
    void introduce(const std::map<core::NodeId, cluster::NodeRecord>& nodes);
    /// The nodes whose link is up.
    const std::set<core::NodeId>& up() const { return up_; }
    /// Updates the metric of waiting bytes.
    void measure() const;
    /// The links that are refused, and what to do; empty: there are none.
    std::string refusals() const;

private:
    link::Links::Events events();
    void changed(const core::NodeId& peer, bool is_up);

    const Context context_;
    std::set<core::NodeId> up_;
    link::Links links_;  ///< ends first: its thread calls this
};

}  // namespace beckon::edge
