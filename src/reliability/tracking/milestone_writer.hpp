#pragma once

#include "core/executor.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"
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

}  // namespace beckon::reliability
