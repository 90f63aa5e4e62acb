#include "reliability/tracking/milestone_writer.hpp"

#include "core/backoff.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"

#include <utility>

namespace beckon::reliability {

struct MilestoneWriter::Impl {
    Impl(MilestoneQueue& q, core::Partition p, log::EventLog& log, core::Executor& e)
        : queue(q), partitions(p), lifetime(e), publisher(log.open_publisher(e)) {}

    /// Any thread.
    void write_after(core::Duration delay) {
        remote.post_after(delay, [this] { write(); });
    }

    void write() {
        if (pausing) return;
        const auto capacity = kUnderWayMax - under_way;
        auto taken = queue.take(capacity);
        // Full: an answer makes space and goes on. Otherwise the queue is empty, and wakes us.
        waits_for_capacity = taken.size() == capacity;
        for (auto& one : taken) publish(std::move(one));
        finish_flush();
    }

    void publish(MilestoneQueue::Taken taken) {
        const log::TopicPartition where{log::Topic::kReliability,
                                        core::partition_of(taken.event.id, partitions)};
        auto record = encode(taken.event);
        publisher->publish(where, std::move(record),
                           [this, taken = std::move(taken)](const auto& appended) {
                               for (const auto& done : taken.done) done();
                               answered(taken.event, appended);
                           });
        ++under_way;
    }

    void answered(const MilestonesReached& event, const core::Result<log::Appended>& appended) {
        --under_way;
        if (appended) {
            failing = false;
            retry.worked();
        }
        if (!appended && appended.error().retryable()) {
            queue.requeue(event);
            pause(appended.error());
        } else if (!appended) {
            queue.count_dropped(event.reached.size());
        } else if (waits_for_capacity && under_way <= kUnderWayMax / 2) {
            waits_for_capacity = false;
            write_after(core::Duration::zero());
        }
        finish_flush();
    }

    void pause(const core::Error& why) {
        if (pausing) return;
        pausing = true;
        if (!std::exchange(failing, true))
            core::log_warn("reliability", "milestones_wait", {{"why", why.message}});
        remote.post_after(retry.pause(), [this] {
            pausing = false;
            write();
        });
    }

    void finish_flush() {
        if (!flushed || under_way > 0 || waits_for_capacity) return;
        std::exchange(flushed, nullptr)();
    }

    MilestoneQueue& queue;
    const core::Partition partitions;
    std::size_t under_way = 0;
    bool waits_for_capacity = false;
    bool pausing = false;
    bool failing = false;  ///< has been logged
    core::Backoff retry{kPauseFirst, kPauseMost};
    std::function<void()> flushed;
    core::Lifetime lifetime;
    const core::Lifetime::Remote remote{lifetime.remote()};
    const std::unique_ptr<log::Publisher> publisher;  ///< first to go: no answer comes after
};

MilestoneWriter::MilestoneWriter(MilestoneQueue& queue, core::Partition partitions,
                                 log::EventLog& log, core::Executor& executor)
    : impl_(std::make_unique<Impl>(queue, partitions, log, executor)) {}

MilestoneWriter::~MilestoneWriter() = default;

void MilestoneWriter::wake() {
    const bool enough = impl_->queue.size() >= MilestoneQueue::kFullBatch;
    impl_->write_after(enough ? core::Duration::zero() : kLinger);
}

void MilestoneWriter::flush(std::function<void()> done) {
    impl_->flushed = std::move(done);
    impl_->write();
}

}  // namespace beckon::reliability
