#include "retry/tiers/tier_scan.hpp"

#include "core/lifetime.hpp"
#include "log/range_scan.hpp"
#include "log/until.hpp"
#include "records/delivery.hpp"
#include "records/events.hpp"

#include <utility>

namespace beckon::retry {

using core::Offset;

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
    std::unique_ptr<log::RangeScan> scan;
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
            read();
        });
}

void TierScan::Impl::read() {
    scan = std::make_unique<log::RangeScan>(
        log, where, log::Range{from.value_or(0), found.end}, executor,
        [this](const core::RecordView& record) {
            if (const auto delivery = decode_delivery(record)) {
                events.seen(record.offset, *delivery);
            }
            return log::Next::go_on;
        },
        [this](const core::Result<Offset>& up_to) {
            up_to ? end(found) : end(core::fail(up_to.error()));
        });
}

void TierScan::Impl::end(const core::Result<Found>& result) {
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
