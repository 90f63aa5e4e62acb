#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "edge/broadcast/broadcast_fold.hpp"
#include "edge/broadcast/broadcast_poller.hpp"
#include "edge/edge_metrics.hpp"
#include "edge/edge_options.hpp"
#include "edge/fronts.hpp"
#include "log/event_log.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace beckon::edge {

/// The broadcasts of an edge: passes versions from the log to the fronts, and versions from the
/// polled page to the log. Made and destroyed on the control thread.
class EdgeBroadcasts {
public:
    /// All of it outlives this.
    struct Context {
        log::EventLog& log;
        core::Executor& control;
        const core::Clock& clock;
        Fronts& fronts;
        const BroadcastMetrics& metrics;
    };
    EdgeBroadcasts(const EdgeOptions& options, Context context);

    /// Whether this edge is the one that polls. On the control thread.
    void poll(bool enabled);
    /// As BroadcastFold::set(); a failure is logged. Any thread.
    void set(BroadcastSet broadcast);
    /// As this edge knows them. Any thread.
    BroadcastsPtr now() const;

private:
    void changed(const BroadcastsPtr& now);
    void polled(const core::Result<std::vector<BroadcastSet>>& found);
    void publish(const BroadcastSet& broadcast);

    const Context context_;
    mutable std::mutex mutex_;
    BroadcastsPtr now_ = std::make_shared<const Broadcasts>();  ///< under mutex_
    std::string last_failure_;                                  ///< of polling; empty: none
    core::Lifetime lifetime_;
    BroadcastFold fold_;
    std::optional<BroadcastPoller> poller_;  ///< ends first
};

}  // namespace beckon::edge
