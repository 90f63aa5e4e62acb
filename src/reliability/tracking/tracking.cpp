#include "reliability/tracking/tracking.hpp"

#include "core/assert.hpp"
#include "net/loop_thread.hpp"
#include "ops/metric_names.hpp"
#include "reliability/totals/totals_view.hpp"
#include "reliability/tracking/milestone_queue.hpp"
#include "reliability/tracking/milestone_writer.hpp"

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

}  // namespace beckon::reliability
