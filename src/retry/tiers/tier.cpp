#include "retry/tiers/tier.hpp"

#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "records/events.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace beckon::retry {

using core::Duration;
using core::Fault;
using core::Offset;

namespace {

/// Records of one turn, some tenths of a millisecond; then others on the thread have theirs. Large
/// records take longer: after kTurn no more are read.
constexpr int kTurnMax = 16;
constexpr Duration kTurn = std::chrono::microseconds{500};

}  // namespace

struct Tier::Impl {
    Impl(Options o, log::EventLog& l, core::Executor& x, const core::Clock& c, Events e)
        : options(std::move(o)),
          log(l),
          executor(x),
          mono(c),
          clock(c),
          events(std::move(e)),
          maturity(options.delay),
          tracker(options.from) {}

    const Options options;
    log::EventLog& log;
    core::Executor& executor;
    const core::Clock& mono;
    DueClock clock;
    const Events events;

    Maturity maturity;
    DoneTracker tracker;
    RecentDeliveries recent;
    Counts counts;
    std::unique_ptr<log::PartitionReader> reader;
    std::optional<Due> head;
    std::map<Offset, core::Timestamp> due_of;  ///< of records that are read and not finished
    Offset expected = 0;  ///< the offset of the next record, if there is no gap
    bool paused = false;
    bool caught_up = false;  ///< it has come to the end, or to a record that is not due, once
    core::Lifetime lifetime{executor};
    core::Lifetime timer{executor};  ///< renewed when one is armed: those before are stale

    void open(Offset from);
    void turn();
    std::optional<Duration> until_head() const;
    bool fetch();
    void read(const core::RecordView& record);
    void set_aside(const core::RecordView& record, const core::Error& why);
    void note_gap(Offset offset, Offset next);
    bool read_failed(const core::Error& why);
    void hand_on();
    void wait(Duration until_due);
    void resume();
    void later(Duration delay, void (Impl::*what)());
};

void Tier::Impl::open(Offset from) {
    reader = log.open_reader({log::Topic::retry(options.tier), options.partition}, from, executor,
                             lifetime.guard([this] { turn(); }));
}

void Tier::Impl::turn() {
    if (!reader) return;
    const auto term = lifetime.term();
    const auto until = mono.mono() + kTurn;
    for (int i = 0; i < kTurnMax && (i == 0 || mono.mono() < until); ++i) {
        if (!head && !fetch()) return;
        if (!head) {  // the record that was read needs no attempt
            if (!events.has_capacity()) return;
            continue;
        }
        const auto until_due = until_head();
        if (!until_due) return;
        if (*until_due > Duration::zero()) {
            caught_up = true;
            return wait(*until_due);
        }
        if (!events.has_capacity()) return;
        hand_on();
        if (term.over() || !reader) return;  // the owner is gone
    }
    later(Duration::zero(), &Impl::turn);
}

/// Without a delay there is nothing to wait for, whatever a clock says that was set back. nullopt:
/// the clock's teacher calls turn().
std::optional<Duration> Tier::Impl::until_head() const {
    const auto until_due = clock.until(head->due);
    if (!until_due) return std::nullopt;
    if (options.delay == Duration::zero()) return Duration::zero();
    if (events.is_unconfirmed(head->delivery)) return std::nullopt;
    return until_due;
}

/// False: nothing is to be had now.
bool Tier::Impl::fetch() {
    if (std::exchange(paused, false)) reader->resume();
    const auto taken = reader->take(1, [this](const auto& record) { read(record); });
    if (!taken) return read_failed(taken.error());
    if (taken->records == 0) {
        note_gap(reader->position(), reader->position());
        tracker.read_up_to(reader->position());
        caught_up = true;
        return false;
    }
    return true;
}

bool Tier::Impl::read_failed(const core::Error& why) {
    if (why.fault != Fault::unavailable) {
        reader.reset();
        events.failed(why);
    }
    return false;  // unavailable: `ready` comes
}

/// The next record stands at `offset`; after it `next` is expected.
void Tier::Impl::note_gap(Offset offset, Offset next) {
    const auto from = std::max(expected, options.from.low);
    expected = std::max(expected, next);
    if (offset > from) events.gap({from, offset}, tracker.finished());
}

void Tier::Impl::read(const core::RecordView& record) {
    clock.read({.offset = record.offset, .time = record.time});
    note_gap(record.offset, record.offset + 1);
    const auto due = maturity.due(record.time);
    const bool earlier = record.offset < options.from.low;
    if (core::is_control_key(record.key)) {
        if (!earlier) tracker.read_up_to(record.offset + 1);
        return;
    }
    auto delivery = decode_delivery(record);
    const bool copy = delivery && !recent.insert(*delivery);
    if (earlier) return;
    if (!delivery && !tracker.is_finished(record.offset)) {
        return set_aside(record, delivery.error());
    }
    const bool went_on = delivery && (copy || events.went_on(*delivery));
    if (went_on) ++counts.copies;
    if (!delivery || went_on || tracker.is_finished(record.offset)) {
        tracker.read_up_to(record.offset + 1);
        return;
    }
    tracker.open(record.offset);
    due_of.emplace(record.offset, due);
    head = Due{{options.partition, options.epoch, options.tier, record.offset},
               std::move(*delivery),
               due,
               {},
               {}};
}

void Tier::Impl::set_aside(const core::RecordView& record, const core::Error& why) {
    ++counts.broken;
    core::log_error("retry", "broken_delivery",
                    {{"tier", options.tier},
                     {"partition", options.partition},
                     {"offset", record.offset},
                     {"why", why.message},
                     {"effect", "it is kept in retry.dead"}});
    tracker.open(record.offset);
    due_of.emplace(record.offset, record.time);
    events.unreadable({.ticket = {options.partition, options.epoch, options.tier, record.offset},
                       .delivery = unreadable(log::Topic::retry(options.tier).name(),
                                              options.partition, record, why),
                       .due = record.time,
                       .now = record.time});
}

void Tier::Impl::hand_on() {
    ++counts.due;
    auto due = std::move(*head);
    head.reset();
    due.now = due.due - std::chrono::ceil<std::chrono::milliseconds>(*clock.until(due.due));
    due.handed_on = mono.mono();
    events.due(std::move(due));
}

void Tier::Impl::wait(Duration until_due) {
    const auto plan = Maturity::plan(until_due);
    if (plan.pause && !paused) {
        paused = true;
        reader->pause();
        later(plan.resume_after, &Impl::resume);
        return;
    }
    later(plan.pause ? plan.resume_after : until_due, plan.pause ? &Impl::resume : &Impl::turn);
}

void Tier::Impl::resume() {
    if (!reader) return;
    if (std::exchange(paused, false)) reader->resume();
    turn();
}

void Tier::Impl::later(Duration delay, void (Impl::*what)()) {
    timer.renew();
    executor.post_after(delay, timer.guard([this, what] { (this->*what)(); }));
}

Tier::Tier(Options options, log::EventLog& log, core::Executor& executor, const core::Clock& clock,
           Events events)
    : impl_(std::make_unique<Impl>(std::move(options), log, executor, clock, std::move(events))) {}

Tier::~Tier() = default;

DueClock& Tier::clock() { return impl_->clock; }

void Tier::start() {
    impl_->expected = std::max(impl_->options.from.low, impl_->options.log_start);
    impl_->open(std::max<Offset>(0, impl_->options.from.low - kReadBack));
}

void Tier::turn() { impl_->turn(); }

bool Tier::finish(Offset offset) {
    impl_->due_of.erase(offset);
    return impl_->tracker.finish(offset);
}

TierState Tier::state() const {
    const auto finished = impl_->tracker.finished();
    TierState state{.where = {log::Topic::retry(impl_->options.tier), impl_->options.partition},
                    .tier = impl_->options.tier,
                    .delay = impl_->options.delay,
                    .low = finished.low,
                    .finished_above = 0,
                    .until_due = std::nullopt};
    for (const auto& range : finished.above) state.finished_above += range.end - range.begin;
    if (!impl_->due_of.empty()) {
        state.until_due = impl_->clock.until(impl_->due_of.begin()->second);
    }
    return state;
}

Finished Tier::finished() const { return impl_->tracker.finished(); }
bool Tier::changed() const { return impl_->tracker.changed(); }
void Tier::clear_changed() { impl_->tracker.clear_changed(); }

Offset Tier::position() const { return impl_->reader ? impl_->reader->position() : 0; }

bool Tier::caught_up() const { return impl_->caught_up; }

std::size_t Tier::in_window() const { return impl_->tracker.open_count() - (impl_->head ? 1 : 0); }

std::optional<core::Timestamp> Tier::next_due() const {
    return impl_->head ? std::optional{impl_->head->due} : std::nullopt;
}

const Tier::Counts& Tier::counts() const { return impl_->counts; }

}  // namespace beckon::retry
