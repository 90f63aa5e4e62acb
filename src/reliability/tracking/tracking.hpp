#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/milestone.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"
#include "ops/metrics.hpp"

#include <memory>

namespace beckon::reliability {

struct TrackingOptions {
    core::NodeId node;
    core::Partition partitions = 0;
    std::size_t messages_max = 64'000;  ///< whose milestones wait to be written
    /// Also follow what the role has counted, for those who show it.
    bool follow_totals = false;
};

/// A process's part in tracking: milestones go in, records go into the log, and counts come back.
/// It has a thread of its own (`milestones`), so that nobody who reports ever waits. Its end writes
/// what is still there, for at most a second.
class Tracking {
public:
    Tracking(TrackingOptions options, log::EventLog& log, const core::Clock& clock,
             ops::Metrics& metrics);
    ~Tracking();
    Tracking(const Tracking&) = delete;
    Tracking& operator=(const Tracking&) = delete;

    core::MilestoneSink& sink();
    /// Thread-safe, as all of it. Only with follow_totals.
    const class TotalsView& totals() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::reliability
