#include "retry/tiers/tier_scan.hpp"

#include "core/lasting_executor.hpp"
#include "records/delivery.hpp"
#include "records/events.hpp"
#include "retry/tiers/partition_tiers.hpp"

#include <utility>

namespace beckon::retry {

using core::Fault;
using core::Offset;

namespace {

constexpr std::size_t kTakeMax = 1'000;

}  // namespace

struct TierScan::Impl {
    log::TopicPartition where;
    std::optional<Offset> from;
    core::NodeId node;
    log::EventLog& log;
    log::Publisher& publisher;
    core::Executor& executor;
    const core::Clock& clock;
    Events events;

    Found found;
    std::unique_ptr<log::PartitionReader> reader;
    core::Lifetime lifetime{executor};  ///< answers may come when the executor is gone

    Impl(log::TopicPartition w, std::optional<Offset> f, core::NodeId n, log::EventLog& l,
         log::Publisher& p, core::Executor& x, const core::Clock& c, Events e)
        : where(w),
          from(f),
          node(std::move(n)),
          log(l),
          publisher(p),
          executor(x),
          clock(c),
          events(std::move(e)) {}

    void ask_start();
    void publish_barrier();
    void barrier_reported(const core::Result<log::Appended>& barrier, core::MonoTime sent);
    void open();
    void read();
    void end(const core::Result<Found>& result);
};

void TierScan::Impl::ask_start() {
    core::ask_while(
        lifetime,
        [this](core::Executor& lasting, auto done) { log.ends(where, lasting, std::move(done)); },
        [this](const core::Result<log::Ends>& ends) {
            if (ends) {
                found.start = ends->start;
                if (!from) from = ends->end;
                publish_barrier();
            } else if (ends.error().retryable()) {
                executor.post_after(PartitionTiers::kPublishAgain,
                                    lifetime.guard([this] { ask_start(); }));
            } else {
                end(core::fail(ends.error()));
            }
        });
}

void TierScan::Impl::publish_barrier() {
    publisher.publish(where, core::encode(core::BarrierRecord{node.text}),
                      lifetime.guard([this, sent = clock.mono()](const auto& barrier) {
                          barrier_reported(barrier, sent);
                      }));
}

void TierScan::Impl::barrier_reported(const core::Result<log::Appended>& barrier,
                                      core::MonoTime sent) {
    if (barrier) {
        found.end = barrier->offset + 1;
        found.time = barrier->time;
        found.sent = sent;
        found.seen = clock.mono();
        open();
    } else if (barrier.error().retryable()) {
        executor.post_after(PartitionTiers::kPublishAgain,
                            lifetime.guard([this] { publish_barrier(); }));
    } else {
        end(core::fail(barrier.error()));
    }
}

void TierScan::Impl::open() {
    reader = log.open_reader(where, from.value_or(0), executor, lifetime.guard([this] { read(); }));
}

void TierScan::Impl::read() {
    while (reader && reader->position() < found.end) {
        const auto taken = reader->take(kTakeMax, [this](const auto& record) {
            if (const auto delivery = decode_delivery(record)) {
                events.seen(record.offset, *delivery);
            }
        });
        if (!taken && taken.error().fault == Fault::unavailable) return;  // `ready` comes
        if (!taken) return end(core::fail(taken.error()));
        if (taken->drained && reader->position() < found.end) return;  // `ready` comes
    }
    if (reader) end(found);
}

void TierScan::Impl::end(const core::Result<Found>& result) {
    reader.reset();
    const auto done = events.done;  // it may destroy the scan
    done(result);
}

TierScan::TierScan(log::TopicPartition where, std::optional<Offset> from, const core::NodeId& node,
                   log::EventLog& log, log::Publisher& publisher, core::Executor& executor,
                   const core::Clock& clock, Events events)
    : impl_(std::make_unique<Impl>(where, from, node, log, publisher, executor, clock,
                                   std::move(events))) {}

TierScan::~TierScan() = default;

void TierScan::start() { impl_->ask_start(); }

}  // namespace beckon::retry
