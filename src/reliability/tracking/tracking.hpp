#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/milestone.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"
#include "ops/metrics.hpp"
#include "reliability/tracking/milestone_queue.hpp"

#include <functional>
#include <memory>

namespace beckon::reliability {

/// Publishes the entries of a MilestoneQueue in the log topic `reliability`. Each lingers for a
/// moment, so that the milestones of one message make one record. Entries that the log refuses
/// return to the queue and are tried again: a milestone reported twice changes nothing.
///
/// Used on the thread of `executor`; wake() from any thread.
class MilestoneWriter {
public:
    /// How long milestones linger.
    static constexpr core::Duration kLinger = std::chrono::seconds{1};
    /// Records under way; the others wait in the queue.
    static constexpr std::size_t kUnderWayMax = 4'000;
    /// After a failure, before the next try.
    static constexpr core::Duration kPauseFirst = std::chrono::seconds{1};
    static constexpr core::Duration kPauseMost = std::chrono::seconds{8};

    MilestoneWriter(MilestoneQueue& queue, core::Partition partitions, log::EventLog& log,
                    core::Executor& executor);
    ~MilestoneWriter();
    MilestoneWriter(const MilestoneWriter&) = delete;
    MilestoneWriter& operator=(const MilestoneWriter&) = delete;

    /// The queue is no longer empty.
    void wake();

    /// Publishes all present entries; calls `done` when all are answered.
    void flush(std::function<void()> done);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

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
