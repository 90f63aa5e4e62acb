#include "retry/tiers/tier_scan.hpp"

#include "core/lifetime.hpp"
#include "log/until.hpp"
#include "records/delivery.hpp"
#include "records/events.hpp"

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
    void open();
    void read();
    void end(const core::Result<Found>& result);
};

void TierScan::Impl::ask_start() {
    log::until_known({lifetime, executor}, log, where, [this](const core::Result<log::Ends>& ends) {
        if (!ends) return end(core::fail(ends.error()));
        found.start = ends->start;
        if (!from) from = ends->end;
        publish_barrier();
    });
}

void TierScan::Impl::publish_barrier() {
    log::until_written(
        {lifetime, executor}, publisher, where,
        [this] {
            found.sent = clock.mono();
            return core::encode(core::BarrierRecord{node.text});
        },
        [this](const log::Appended& barrier) {
            found.end = barrier.offset + 1;
            found.time = barrier.time;
            found.seen = clock.mono();
            open();
        });
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
