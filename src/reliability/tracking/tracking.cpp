#include "reliability/tracking/tracking.hpp"

#include "core/assert.hpp"
#include "core/backoff.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "net/io_loop.hpp"
#include "ops/metric_names.hpp"
#include "reliability/totals/totals_view.hpp"
#include "reliability/tracking/milestone_queue.hpp"

#include <future>
#include <optional>
#include <utility>

namespace beckon::reliability {

namespace {

constexpr std::chrono::seconds kLastWrites{1};
constexpr std::chrono::seconds kMeasure{1};

}  // namespace

struct Tracking::Impl {
    Impl(TrackingOptions o, log::EventLog& l, const core::Clock& c, ops::Metrics& metrics)
        : options(std::move(o)),
          log(l),
          clock(c),
          recorded(metrics.counter(ops::metric::kReliabilityRecorded,
                                   "Milestones that were queued to be written.")),
          dropped(metrics.counter(
              ops::metric::kReliabilityDropped,
              "Milestones that were dropped: the queue was full, or the log refused them.")),
          waiting(metrics.gauge(ops::metric::kReliabilityWaiting,
                                "Messages whose milestones wait to be written.")),
          queue({.source = options.node.text, .messages_max = options.messages_max}, clock,
                [this] { writer->wake(); }),
          thread("milestones", clock) {
        thread.start();
        thread.run_there([this] { open(); });
    }
    ~Impl() {
        std::promise<void> written;
        thread.run_there([&] { writer->flush([&written] { written.set_value(); }); });
        written.get_future().wait_for(kLastWrites);
        thread.run_there([this] { close(); });
    }

    void open() {
        writer.emplace(queue, options.partitions, log, thread.loop());
        if (options.follow_totals) {
            publisher = log.open_publisher(thread.loop());
            totals.emplace(options.node,
                           fold::Fold::Context{log, *publisher, thread.loop(), clock});
        }
        measure();
    }
    void close() {
        closed = true;
        totals.reset();
        publisher.reset();
        writer.reset();
    }

    void measure() {
        if (closed) return;
        const auto raise = [](prometheus::Counter& counter, std::uint64_t to) {
            counter.Increment(static_cast<double>(to) - counter.Value());
        };
        raise(recorded, queue.recorded());
        raise(dropped, queue.dropped());
        waiting.Set(static_cast<double>(queue.size()));
        thread.loop().post_after(kMeasure, [this] { measure(); });
    }

    const TrackingOptions options;
    log::EventLog& log;
    const core::Clock& clock;
    prometheus::Counter& recorded;
    prometheus::Counter& dropped;
    prometheus::Gauge& waiting;
    MilestoneQueue queue;

    // Of the loop's thread.
    bool closed = false;
    std::optional<MilestoneWriter> writer;
    std::unique_ptr<log::Publisher> publisher;
    std::optional<TotalsView> totals;

    net::LoopThread thread;  ///< ends before the objects that its tasks use
};

Tracking::Tracking(TrackingOptions options, log::EventLog& log, const core::Clock& clock,
                   ops::Metrics& metrics)
    : impl_(std::make_unique<Impl>(std::move(options), log, clock, metrics)) {}

Tracking::~Tracking() = default;

core::MilestoneSink& Tracking::sink() { return impl_->queue; }

const TotalsView& Tracking::totals() const {
    BECKON_ASSERT(impl_->totals.has_value(), "totals are followed where they are shown");
    return *impl_->totals;
}

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
