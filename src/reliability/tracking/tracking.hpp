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
    /// Also follow the role's counts, for pages that show them.
    bool follow_totals = false;
};

/// A process's part in tracking: milestones go in, records go into the log, and counts come back.
/// It has a thread of its own (`milestones`), so that no reporter ever waits. Its end publishes the
/// rest of the queue, for at most a second.
///
/// Code that delivers in another way than over the edge (FCM, APNs) needs only sink(), which
/// outlives it, and `core/milestone.hpp`; it links no library of this folder:
///
///     sink.reached(id, expires, core::Milestone::bridge_transmitted);  // the service took it
///     sink.reached(id, expires, core::Milestone::errored);             // it refused it for good
///
/// `id` is the value of `ce_reliabilityid` in the message's record, `expires` its append time plus
/// its TTL. A try that will be repeated is no milestone, and neither is the end of the TTL: the
/// role reliability reports that itself. A caller that records the end of a delivery uses
/// reached_then(), and records it in `done`: after a kill between the two the milestone is reported
/// again, which changes nothing, and no end is lost.
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
