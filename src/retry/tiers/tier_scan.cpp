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

struct TierScan::Impl : std::enable_shared_from_this<Impl> {
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
    template <class F>
    auto alive(F f) {
        return [weak = weak_from_this(), f](const auto&... answer) {
            if (const auto self = weak.lock()) f(*self, answer...);
        };
    }
};

void TierScan::Impl::ask_start() {
    core::ask_while(
        lifetime,
        [this](core::Executor& lasting, auto done) { log.ends(where, lasting, std::move(done)); },
        alive([](Impl& self, const core::Result<log::Ends>& ends) {
            if (ends) {
                self.found.start = ends->start;
                if (!self.from) self.from = ends->end;
                self.publish_barrier();
            } else if (ends.error().retryable()) {
                self.executor.post_after(PartitionTiers::kPublishAgain,
                                         self.alive([](Impl& s) { s.ask_start(); }));
            } else {
                self.end(core::fail(ends.error()));
            }
        }));
}

void TierScan::Impl::publish_barrier() {
    publisher.publish(where, core::encode(core::BarrierRecord{node.text}),
                      alive([sent = clock.mono()](Impl& self, const auto& barrier) {
                          self.barrier_reported(barrier, sent);
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
                            alive([](Impl& self) { self.publish_barrier(); }));
    } else {
        end(core::fail(barrier.error()));
    }
}

void TierScan::Impl::open() {
    reader =
        log.open_reader(where, from.value_or(0), executor, alive([](Impl& self) { self.read(); }));
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
    const auto keep = shared_from_this();  // the answer may destroy the scan
    events.done(result);
}

TierScan::TierScan(log::TopicPartition where, std::optional<Offset> from, const core::NodeId& node,
                   log::EventLog& log, log::Publisher& publisher, core::Executor& executor,
                   const core::Clock& clock, Events events)
    : impl_(std::make_shared<Impl>(where, from, node, log, publisher, executor, clock,
                                   std::move(events))) {}

TierScan::~TierScan() { impl_->reader.reset(); }

void TierScan::start() { impl_->ask_start(); }

}  // namespace beckon::retry
