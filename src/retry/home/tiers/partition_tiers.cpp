#include "retry/home/tiers/partition_tiers.hpp"

#include "core/assert.hpp"
#include "core/logger.hpp"

#include <algorithm>

namespace beckon::retry {

using core::Fault;
using core::Offset;
using log::Topic;

namespace {

/// How many offsets of a range are not finished.
std::uint64_t unfinished_in(OffsetRange range, const Finished& finished) {
    range.begin = std::max(range.begin, finished.low);
    if (range.begin >= range.end) return 0;
    auto missing = range.end - range.begin;
    for (const auto& done : finished.above) {
        missing -=
            std::max<Offset>(0, std::min(done.end, range.end) - std::max(done.begin, range.begin));
    }
    return static_cast<std::uint64_t>(missing);
}

}  // namespace

PartitionTiers::PartitionTiers(Options options, HomeContext context, Events events)
    : options_(std::move(options)), context_(context), events_(std::move(events)) {}

log::TopicPartition PartitionTiers::at(int place) const {
    return {place == kDead ? Topic::kRetryDead : Topic::retry(place), options_.partition};
}

/// What the last DoneRecord says of the tier; null: nothing.
const DoneRecord::Tier* PartitionTiers::recorded(int tier) const {
    if (!options_.from) return nullptr;
    const auto found = options_.from->tiers.find(tier);
    return found == options_.from->tiers.end() ? nullptr : &found->second;
}

/// True if the deliveries in this tier wait by another delay than the present table has.
bool PartitionTiers::is_timed_otherwise(int tier) const {
    const auto step = static_cast<std::size_t>(tier);
    const auto& before = options_.from->delays;
    if (step >= before.size()) return false;
    return tier >= options_.table.steps() || options_.table.delay(tier) != before[step];
}

std::optional<Offset> PartitionTiers::scan_start(int place) const {
    if (options_.from && place == kDead) return options_.from->dead_scan;
    const auto* before = recorded(place);
    if (!before) return std::nullopt;
    return is_timed_otherwise(place) ? std::min(before->scan, before->finished.low) : before->scan;
}

void PartitionTiers::start() {
    places_[kDead];
    for (const int tier : options_.table.tiers()) places_[tier];
    if (options_.from) {
        for (const auto& [tier, state] : options_.from->tiers) places_[tier];
    }
    scans_left_ = places_.size();
    for (const auto& [place, ignored] : places_) scan(place);
}

void PartitionTiers::scan(int place) {
    auto& scan = places_.at(place).scan;
    scan = std::make_unique<TierScan>(
        at(place), scan_start(place), options_.node, context_,
        TierScan::Events{.seen =
                             [this, place](Offset offset, const Delivery& delivery) {
                                 note_waiting(place, offset);
                                 if (delivery.hop == 0) return;  // not promoted yet
                                 auto& highest = seen_[delivery.id];
                                 highest = std::max(highest, delivery.hop);
                             },
                         .done = [this, place](const auto& found) { scan_done(place, found); }});
    scan->start();
}

PartitionTiers::Scanned PartitionTiers::scanned() const {
    Scanned sum;
    for (const auto& [place, one] : places_) {
        if (!one.scan) continue;
        sum.read += one.scan->scanned();
        sum.left += one.scan->left();
    }
    return sum;
}

void PartitionTiers::scan_done(int place, const core::Result<TierScan::Found>& found) {
    if (!found) return fail(found.error());
    auto& scanned = places_.at(place);
    scanned.found = *found;
    scanned.scan_from = found->end;
    scanned.scan_began = scan_start(place).value_or(found->end);
    if (--scans_left_ > 0) return;
    for (auto& [other, one] : places_) one.scan.reset();
    if (refuse_other_table()) return;
    for (const int tier : options_.table.tiers()) open_tier(tier);
    for (const int tier : options_.table.tiers()) places_.at(tier).tier->start();
    opened_ = true;
    record_soon();
    events_.started();
}

void PartitionTiers::note_waiting(int place, Offset offset) {
    const auto* before = recorded(place);
    if (!before || waiting_otherwise_ || !is_timed_otherwise(place)) return;
    if (!DoneTracker{before->finished}.is_finished(offset)) waiting_otherwise_ = place;
}

/// Deliveries wait in a tier by another delay: then nothing is touched.
bool PartitionTiers::refuse_other_table() {
    if (!waiting_otherwise_) return false;
    const auto before = TierTable::from(options_.from->delays);
    fail({Fault::conflict, "partition " + std::to_string(options_.partition) + ": " +
                               at(*waiting_otherwise_).topic.name() +
                               " holds deliveries that wait by the tier table `" +
                               (before ? before->text() : std::string{"(broken)"}) +
                               "`, `control` has `" + options_.table.text() + "`"});
    return true;
}

void report_made_anew(log::TopicPartition where, Offset position, Offset end) {
    core::log_error("retry", "topic_made_anew",
                    {{"topic", where.topic.name()},
                     {"partition", where.partition},
                     {"position", position},
                     {"log_end", end}});
}

void PartitionTiers::open_tier(int tier) {
    auto& place = places_.at(tier);
    const auto& barrier = place.found;
    Finished from;
    if (const auto* before = recorded(tier)) {
        from = before->finished;
        if (barrier.made_anew || from.low > barrier.end) {
            report_made_anew(at(tier), from.low, barrier.end);
            from = {};
        }
        count_lost(tier, {from.low, barrier.start}, from);
    }
    place.tier = std::make_unique<Tier>(
        Tier::Options{options_.partition, options_.epoch, tier, options_.table.delay(tier),
                      std::move(from), barrier.start},
        context_, static_cast<Tier::Owner&>(*this));
    place.tier->clock().appended({.offset = barrier.end - 1, .time = barrier.time}, barrier.sent,
                                 barrier.seen);
}

void PartitionTiers::count_lost(int tier, OffsetRange range, const Finished& finished) {
    const auto missing = unfinished_in(range, finished);
    if (missing == 0) return;
    context_.tally.deliveries[DeliveryEnd::lost] += missing;
    core::log_error("retry", "deliveries_lost",
                    {{"tier", tier},
                     {"partition", options_.partition},
                     {"count", missing},
                     {"from", range.begin},
                     {"log_start", range.end}});
}

/// Records below the log's start were removed by retention; other gaps hold no records.
void PartitionTiers::read_gap(int tier, OffsetRange gap, const Finished& finished) {
    log::until_known(again(), context_.log, at(tier),
                     [this, tier, gap, finished](const core::Result<log::Ends>& ends) {
                         if (!ends) return fail(ends.error());
                         count_lost(tier, {gap.begin, std::min(gap.end, ends->start)}, finished);
                     });
}

bool PartitionTiers::has_capacity(int tier) const {
    if (stopping_ || paused_ || window_.size() >= options_.window_max) return false;
    if (window_bytes_ >= options_.window_bytes_max) return false;
    // No tier fills the window alone: newly failed work never delays new work, nor the other way.
    return places_.at(tier).in_window < options_.window_max - options_.window_max / 8;
}

bool PartitionTiers::went_on(const Delivery& delivery) const {
    const auto found = seen_.find(delivery.id);
    return found != seen_.end() && found->second > delivery.hop;
}

bool PartitionTiers::is_unconfirmed(const Delivery& delivery) const {
    return unconfirmed_.contains({delivery.id, delivery.hop});
}

void PartitionTiers::take(Due due) {
    take_into_window(due);
    events_.due(std::move(due));
}

void PartitionTiers::take_into_window(const Due& due) {
    const auto bytes = bytes_in_window(due.delivery);
    window_.emplace(due.ticket, bytes);
    window_bytes_ += bytes;
    ++places_.at(due.ticket.tier).in_window;
}

/// Its reader is in the middle of a record, so the effects come after it.
void PartitionTiers::set_aside(const Due& unreadable) {
    take_into_window(unreadable);
    context_.executor.post(
        lifetime_.guard([this, one = unreadable] { publish(kDead, one.ticket, one.delivery); }));
}

void PartitionTiers::finish(const Ticket& ticket) {
    const auto found = window_.find(ticket);
    BECKON_ASSERT(found != window_.end(), "a delivery is finished once");
    window_bytes_ -= found->second;
    window_.erase(found);
    auto& place = places_.at(ticket.tier);
    --place.in_window;
    place.tier->finish(ticket.offset);
    turn_tiers_.ask();
}

void PartitionTiers::turn_tiers() {
    const auto term = lifetime_.term();
    for (auto one = places_.begin(); !term.over() && one != places_.end(); ++one) {
        if (one->second.tier) one->second.tier->turn();
    }
}

void PartitionTiers::publish(int to, const Ticket& ticket, const Delivery& delivery) {
    const auto one = std::make_shared<Promotion>(
        Promotion{.to = to,
                  .ticket = ticket,
                  .record = to == kDead ? encode_dead(delivery) : encode(delivery),
                  .name = {delivery.id, delivery.hop}});
    ++places_.at(to).publishing;
    unconfirmed_.insert(one->name);
    log::until_written(
        again(), context_.publisher, at(to),
        [this, one] {
            one->sent = context_.clock.mono();
            return one->record;
        },
        [this, one](const log::Appended& where) { written(*one, where); },
        [this, one](const core::Error& why) {
            // Perhaps it is in the log: then the next tier drops the copy.
            core::log_warn("retry", "promotion_failed", {{"why", why.message}});
            if (!std::exchange(one->in_doubt, true)) ++places_.at(one->to).in_doubt;
        });
}

void PartitionTiers::written(const Promotion& promotion, const log::Appended& where) {
    auto& to = places_.at(promotion.to);
    ++context_.tally.deliveries[promotion.to == kDead ? DeliveryEnd::dead : DeliveryEnd::promoted];
    --to.publishing;
    unconfirmed_.erase(promotion.name);
    if (promotion.in_doubt) --to.in_doubt;
    // A promotion in doubt may stand before this one, and its source is not finished.
    if (to.in_doubt == 0) to.scan_from = std::max(to.scan_from, where.offset + 1);
    if (to.tier) {
        to.tier->clock().appended({.offset = where.offset, .time = where.time}, promotion.sent);
    }
    finish(promotion.ticket);
}

/// Whether all records from which the scans' deliveries were promoted have been read, and so count
/// as finished. They had been due at a former home.
bool PartitionTiers::has_read_sources() const {
    return std::all_of(places_.begin(), places_.end(), [](const auto& one) {
        return !one.second.tier || one.second.tier->caught_up();
    });
}

/// Most deliveries of a tier are written by other homes, and this home's own promotions may be
/// rare. While none of them is under way, all that was read came from records that are finished.
Offset PartitionTiers::scanned_up_to(const Place& place) const {
    if (!has_read_sources()) return place.scan_began;
    if (place.publishing > 0 || !place.tier) return place.scan_from;
    return std::max(place.scan_from, place.tier->position());
}

DoneRecord PartitionTiers::done_record() const {
    DoneRecord done{.partition = options_.partition,
                    .epoch = options_.epoch,
                    .delays = {},
                    .tiers = {},
                    .dead_scan = scanned_up_to(places_.at(kDead)),
                    .events_next = events_next_};
    for (int step = 0; step < options_.table.steps(); ++step) {
        done.delays.push_back(options_.table.delay(step));
    }
    for (const auto& [tier, place] : places_) {
        if (place.tier) done.tiers[tier] = {place.tier->finished(), scanned_up_to(place)};
    }
    return done;
}

bool PartitionTiers::changed() const {
    return unrecorded_ || std::any_of(places_.begin(), places_.end(), [](const auto& one) {
               return one.second.tier && one.second.tier->changed();
           });
}

void PartitionTiers::record_soon() {
    context_.executor.post_after(kRecordEvery, lifetime_.guard([this] {
        if (changed() && !recording_) record([] {});
        if (!stopping_) record_soon();
    }));
}

// It needs no log::CheckedPublisher: numbers of ours alone, which bytes of others cannot make
// unreadable; a window of 4,096 deliveries makes at most 8,192 lengths of each tier, so that it
// stays far below a record's bound.
void PartitionTiers::record(std::function<void()> then) {
    recording_ = true;
    unrecorded_ = false;
    for (const auto& [tier, place] : places_) {
        if (place.tier) place.tier->clear_changed();
    }
    context_.publisher.publish(
        {Topic::kRetryDone, options_.partition}, encode(done_record()),
        lifetime_.guard([this, then = std::move(then)](const auto& where) {
            recording_ = false;
            unrecorded_ |= !where;
            if (!where) {
                core::log_warn("retry", "done_not_recorded",
                               {{"partition", options_.partition}, {"why", where.error().message}});
            }
            then();
        }));
}

void PartitionTiers::fail(const core::Error& why) {
    if (std::exchange(stopping_, true)) return;
    const auto failed = events_.failed;  // it may destroy this
    failed(why);
}

void PartitionTiers::promote(const Ticket& ticket, Delivery delivery, int tier) {
    ++delivery.hop;
    publish(tier, ticket, delivery);
}

void PartitionTiers::dead_letter(const Ticket& ticket, Delivery delivery) {
    ++delivery.hop;
    publish(kDead, ticket, delivery);
}

void PartitionTiers::stop(std::function<void()> stopped) {
    stopping_ = true;
    if (!opened_) return context_.executor.post(std::move(stopped));
    record(std::move(stopped));
}

void PartitionTiers::set_paused(bool is) {
    if (std::exchange(paused_, is) == is) return;
    if (!is) turn_tiers_.ask();
}

void PartitionTiers::fanned_out_up_to(Offset next) {
    unrecorded_ |= next != events_next_;
    events_next_ = next;
}

std::vector<TierState> PartitionTiers::states() const {
    std::vector<TierState> states;
    for (const auto& [tier, place] : places_) {
        if (place.tier) states.push_back(place.tier->state());
    }
    return states;
}

}  // namespace beckon::retry
