#include "retry/home/tiers/tier.hpp"

#include "core/logger.hpp"
#include "records/events.hpp"

#include <algorithm>
#include <utility>

namespace beckon::retry {

using core::Duration;
using core::Fault;
using core::Offset;

namespace {

/// Records of one turn; then others on the thread have theirs. Large records take longer: after
/// kTurn no more are read.
constexpr int kTurnMax = 16;
constexpr Duration kTurn = std::chrono::microseconds{125};

/// Waits longer than this pause the reader, which drops prefetched records; for shorter ones that
/// costs more than it saves.
constexpr Duration kPauseAbove = std::chrono::seconds{30};
/// A paused reader goes on so long before its head is due.
constexpr Duration kResumeAhead = std::chrono::seconds{2};

/// Waits for one time that are computed one after the other differ by less.
constexpr Duration kSameTime = std::chrono::microseconds{100};

}  // namespace

Tier::Tier(Options options, HomeContext context, Owner& owner)
    : options_(std::move(options)), context_(context), owner_(owner), tracker_(options_.from) {}

void Tier::open(Offset from) {
    reader_ = context_.log.open_reader({log::Topic::retry(options_.tier), options_.partition}, from,
                                       context_.executor, lifetime_.guard([this] { turn(); }));
}

void Tier::turn() {
    if (!reader_) return;
    const auto term = lifetime_.term();
    const auto until = context_.clock.mono() + kTurn;
    for (int i = 0; i < kTurnMax && (i == 0 || context_.clock.mono() < until); ++i) {
        if (!head_ && !fetch()) return;
        if (!head_) {  // the record that was read needs no attempt
            if (!owner_.has_capacity(options_.tier)) return;
            continue;
        }
        const auto until_due = until_head();
        if (!until_due) return;
        if (*until_due > Duration::zero()) {
            caught_up_ = true;
            return wait(*until_due);
        }
        if (!owner_.has_capacity(options_.tier)) return;
        hand_on();
        if (term.over() || !reader_) return;  // the owner is gone
    }
    turn_after(Duration::zero());
}

/// Without a delay there is nothing to wait for, whatever a clock says that was set back. nullopt:
/// the clock's teacher calls turn().
std::optional<Duration> Tier::until_head() const {
    const auto until_due = clock_.until(head_->due);
    if (!until_due) return std::nullopt;
    if (options_.delay == Duration::zero()) return Duration::zero();
    if (owner_.is_unconfirmed(head_->delivery)) return std::nullopt;
    return until_due;
}

/// False: nothing is to be had now.
bool Tier::fetch() {
    if (std::exchange(paused_, false)) reader_->resume();
    const auto taken = reader_->take(1, [this](const auto& record) { read(record); });
    if (!taken) return read_failed(taken.error());
    if (taken->records == 0) {
        note_gap(reader_->position(), reader_->position());
        tracker_.read_up_to(reader_->position());
        caught_up_ = true;
        return false;
    }
    return true;
}

bool Tier::read_failed(const core::Error& why) {
    if (why.fault != Fault::unavailable) {
        reader_.reset();
        owner_.fail(why);
    }
    return false;  // unavailable: `ready` comes
}

/// The next record stands at `offset`; after it `next` is expected.
void Tier::note_gap(Offset offset, Offset next) {
    const auto from = std::max(expected_, options_.from.low);
    expected_ = std::max(expected_, next);
    if (offset > from) owner_.read_gap(options_.tier, {from, offset}, tracker_.finished());
}

/// Append times may step back (a broker's clock, a new leader), so a record is due at the greatest
/// one that the partition has shown so far, plus the tier's delay: the order of offsets is the
/// order of due times.
core::Timestamp Tier::due_time(core::Timestamp appended) {
    newest_ = std::max(newest_, appended);
    return newest_ + options_.delay;
}

void Tier::read(const core::RecordView& record) {
    clock_.read({.offset = record.offset, .time = record.time});
    note_gap(record.offset, record.offset + 1);
    const auto due = due_time(record.time);
    const bool earlier = record.offset < options_.from.low;
    if (core::is_control_key(record.key)) {
        if (!earlier) tracker_.read_up_to(record.offset + 1);
        return;
    }
    auto delivery = decode_delivery(record);
    const bool copy = delivery && !recent_.insert(*delivery);
    if (earlier) return;
    if (!delivery && !tracker_.is_finished(record.offset)) {
        return set_aside(record, delivery.error());
    }
    const bool went_on = delivery && (copy || owner_.went_on(*delivery));
    if (went_on) ++context_.tally.deliveries[DeliveryEnd::copy];
    if (!delivery || went_on || tracker_.is_finished(record.offset)) {
        tracker_.read_up_to(record.offset + 1);
        return;
    }
    tracker_.open(record.offset);
    due_of_.emplace(record.offset, due);
    head_ = Due{{options_.partition, options_.epoch, options_.tier, record.offset},
                std::move(*delivery),
                due,
                {},
                {}};
}

void Tier::set_aside(const core::RecordView& record, const core::Error& why) {
    ++context_.tally.deliveries[DeliveryEnd::broken];
    core::log_sparsely(core::LogLevel::error, "retry", "broken_delivery",
                       {{"tier", options_.tier},
                        {"partition", options_.partition},
                        {"offset", record.offset},
                        {"why", why.message},
                        {"effect", "it is kept in retry.dead"}});
    tracker_.open(record.offset);
    due_of_.emplace(record.offset, record.time);
    owner_.set_aside({.ticket = {options_.partition, options_.epoch, options_.tier, record.offset},
                      .delivery = unreadable(log::Topic::retry(options_.tier).name(),
                                             options_.partition, record, why),
                      .due = record.time,
                      .now = record.time});
}

void Tier::hand_on() {
    ++context_.tally.deliveries[DeliveryEnd::due];
    auto due = std::move(*head_);
    head_.reset();
    due.now = due.due - std::chrono::ceil<std::chrono::milliseconds>(*clock_.until(due.due));
    due.handed_on = context_.clock.mono();
    owner_.take(std::move(due));
}

void Tier::wait(Duration until_due) {
    const bool far = until_due > (paused_ ? kResumeAhead : kPauseAbove);
    if (std::exchange(paused_, far) != far) far ? reader_->pause() : reader_->resume();
    turn_after(far ? until_due - kResumeAhead : until_due);
}

/// A timer that is set for this already stays. Each attempt that ends calls turn() of every tier,
/// and a loop keeps a stale timer until its time, which may be hours away.
void Tier::turn_after(Duration delay) {
    const auto at = context_.clock.mono() + delay;
    if (timer_at_ && *timer_at_ <= at + kSameTime) return;
    timer_at_ = at;
    timer_.renew();
    context_.executor.post_after(delay, timer_.guard([this] {
        timer_at_.reset();
        turn();
    }));
}

void Tier::start() {
    expected_ = std::max(options_.from.low, options_.log_start);
    open(std::max<Offset>(0, options_.from.low - kReadBack));
}

bool Tier::finish(Offset offset) {
    due_of_.erase(offset);
    return tracker_.finish(offset);
}

TierState Tier::state() const {
    TierState state{.where = {log::Topic::retry(options_.tier), options_.partition},
                    .tier = options_.tier,
                    .delay = options_.delay,
                    .low = tracker_.low(),
                    .finished_above = tracker_.finished_above(),
                    .until_due = std::nullopt};
    if (!due_of_.empty()) {
        state.until_due = clock_.until(due_of_.begin()->second);
    }
    return state;
}

Offset Tier::position() const { return reader_ ? reader_->position() : 0; }

}  // namespace beckon::retry
