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

std::vector<Topic> PartitionTiers::topics() const {
    std::vector<Topic> all;
    for (const int tier : options_.table.tiers()) all.push_back(Topic::retry(tier));
    if (options_.from) {
        for (const auto& [tier, state] : options_.from->tiers) {
            const auto topic = Topic::retry(tier);
            if (std::find(all.begin(), all.end(), topic) == all.end()) all.push_back(topic);
        }
    }
    all.push_back(Topic::kRetryDead);
    return all;
}

/// True if the deliveries in this tier wait by another delay than the present table has.
bool PartitionTiers::is_timed_otherwise(int tier) const {
    const auto step = static_cast<std::size_t>(tier);
    const auto& before = options_.from->delays;
    if (step >= before.size()) return false;
    return tier >= options_.table.steps() || options_.table.delay(tier) != before[step];
}

std::optional<Offset> PartitionTiers::scan_start(Topic topic) const {
    if (!options_.from) return std::nullopt;
    if (topic == Topic::kRetryDead) return options_.from->dead_scan;
    for (const auto& [tier, state] : options_.from->tiers) {
        if (Topic::retry(tier) != topic) continue;
        return is_timed_otherwise(tier) ? std::min(state.scan, state.finished.low) : state.scan;
    }
    return std::nullopt;
}

void PartitionTiers::start() {
    for (const auto topic : topics()) scan(topic);
}

void PartitionTiers::scan(Topic topic) {
    TierScan::Events answers{.seen =
                                 [this, topic](Offset offset, const Delivery& delivery) {
                                     note_waiting(topic, offset);
                                     if (delivery.hop == 0) return;  // not promoted yet
                                     auto& highest = seen_[delivery.id];
                                     highest = std::max(highest, delivery.hop);
                                 },
                             .done = [this, topic](const auto& found) { scan_done(topic, found); }};
    auto& scan = scans_[topic];
    scan = std::make_unique<TierScan>(at(topic), scan_start(topic), options_.node, context_,
                                      std::move(answers));
    scan->start();
}

PartitionTiers::Scanned PartitionTiers::scanned() const {
    Scanned sum;
    for (const auto& [topic, scan] : scans_) {
        sum.read += scan->scanned();
        sum.left += scan->left();
    }
    return sum;
}

void PartitionTiers::scan_done(Topic topic, const core::Result<TierScan::Found>& found) {
    if (!found) return fail(found.error());
    scanned_[topic] = *found;
    scan_from_[topic] = found->end;
    scan_began_[topic] = scan_start(topic).value_or(found->end);
    if (scanned_.size() < scans_.size()) return;
    scans_.clear();
    if (refuse_other_table()) return;
    open_tiers();
    record_soon();
    events_.started();
}

void PartitionTiers::note_waiting(Topic topic, Offset offset) {
    if (!options_.from || waiting_otherwise_) return;
    for (const auto& [tier, state] : options_.from->tiers) {
        if (Topic::retry(tier) != topic || !is_timed_otherwise(tier)) continue;
        if (!DoneTracker{state.finished}.is_finished(offset)) waiting_otherwise_ = topic;
    }
}

/// Deliveries wait in a tier by another delay: then nothing is touched.
bool PartitionTiers::refuse_other_table() {
    if (!waiting_otherwise_) return false;
    const auto before = TierTable::from(options_.from->delays);
    fail({Fault::conflict, "partition " + std::to_string(options_.partition) + ": " +
                               waiting_otherwise_->name() +
                               " holds deliveries that wait by the tier table `" +
                               (before ? before->text() : std::string{"(broken)"}) +
                               "`, `control` has `" + options_.table.text() + "`"});
    return true;
}

void PartitionTiers::open_tiers() {
    for (const int tier : options_.table.tiers()) open_tier(tier);
    for (const auto& [tier, opened] : tiers_) opened->start();
}

void report_made_anew(log::TopicPartition where, Offset position, Offset end) {
    core::log_error("retry", "topic_made_anew",
                    {{"topic", where.topic.name()},
                     {"partition", where.partition},
                     {"position", position},
                     {"log_end", end}});
}

void PartitionTiers::open_tier(int tier) {
    const auto& barrier = scanned_.at(Topic::retry(tier));
    Finished from;
    if (options_.from && options_.from->tiers.contains(tier)) {
        from = options_.from->tiers.at(tier).finished;
        if (barrier.made_anew || from.low > barrier.end) {
            report_made_anew(at(Topic::retry(tier)), from.low, barrier.end);
            from = {};
        }
        count_lost(tier, {from.low, barrier.start}, from);
    }
    auto opened = std::make_unique<Tier>(
        Tier::Options{options_.partition, options_.epoch, tier, options_.table.delay(tier),
                      std::move(from), barrier.start},
        context_,
        Tier::Events{
            .has_capacity = [this, tier] { return has_capacity(tier); },
            .due = [this](Due one) { due(std::move(one)); },
            .unreadable = [this](const Due& one) { set_aside(one); },
            .went_on = [this](const Delivery& d) { return went_on(d); },
            .is_unconfirmed =
                [this](const Delivery& d) {
                    return unconfirmed_.contains({d.id, d.hop});
                },
            .gap = [this, tier](OffsetRange gap,
                                const Finished& finished) { read_gap(tier, gap, finished); },
            .failed = [this](const core::Error& why) { fail(why); }});
    opened->clock().appended({.offset = barrier.end - 1, .time = barrier.time}, barrier.sent,
                             barrier.seen);
    tiers_[tier] = std::move(opened);
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
    log::until_known(again(), context_.log, at(Topic::retry(tier)),
                     [this, tier, gap, finished](const core::Result<log::Ends>& ends) {
                         if (!ends) return fail(ends.error());
                         count_lost(tier, {gap.begin, std::min(gap.end, ends->start)}, finished);
                     });
}

bool PartitionTiers::has_capacity(int tier) const {
    if (stopping_ || paused_ || window_.size() >= options_.window_max) return false;
    if (window_bytes_ >= options_.window_bytes_max) return false;
    // No tier fills the window alone: newly failed work never delays new work, nor the other way.
    const auto mine = window_of_.find(tier);
    return mine == window_of_.end() || mine->second < options_.window_max - options_.window_max / 8;
}

bool PartitionTiers::went_on(const Delivery& delivery) const {
    const auto found = seen_.find(delivery.id);
    return found != seen_.end() && found->second > delivery.hop;
}

void PartitionTiers::take_into_window(const Due& due) {
    const auto bytes = bytes_in_window(due.delivery);
    window_.emplace(due.ticket, bytes);
    window_bytes_ += bytes;
    ++window_of_[due.ticket.tier];
}

void PartitionTiers::due(Due due) {
    take_into_window(due);
    events_.due(std::move(due));
}

/// Its reader is in the middle of a record, so the effects come after it.
void PartitionTiers::set_aside(const Due& due) {
    take_into_window(due);
    context_.executor.post(lifetime_.guard([this, due] {
        publish(Topic::kRetryDead, due.ticket, due.delivery, encode_dead(due.delivery));
    }));
}

void PartitionTiers::finish(const Ticket& ticket) {
    const auto found = window_.find(ticket);
    BECKON_ASSERT(found != window_.end(), "a delivery is finished once");
    window_bytes_ -= found->second;
    window_.erase(found);
    --window_of_[ticket.tier];
    tiers_.at(ticket.tier)->finish(ticket.offset);
    capacity_made();
}

void PartitionTiers::capacity_made() {
    if (capacity_posted_) return;
    context_.executor.post(lifetime_.guard([this] {
        capacity_posted_ = false;
        const auto term = lifetime_.term();
        for (auto one = tiers_.begin(); !term.over() && one != tiers_.end(); ++one) {
            one->second->turn();
        }
    }));
    capacity_posted_ = true;
}

/// `record`: of the delivery, whose id and hop name it to is_unconfirmed.
void PartitionTiers::publish(Topic topic, const Ticket& ticket, const Delivery& delivery,
                             core::Record record) {
    const auto one = std::make_shared<Promotion>(Promotion{.topic = topic,
                                                           .ticket = ticket,
                                                           .record = std::move(record),
                                                           .name = {delivery.id, delivery.hop}});
    ++publishing_[topic];
    unconfirmed_.insert(one->name);
    log::until_written(
        again(), context_.publisher, at(topic),
        [this, one] {
            one->sent = context_.clock.mono();
            return one->record;
        },
        [this, one](const log::Appended& where) { written(*one, where); },
        [this, one](const core::Error& why) {
            // Perhaps it is in the log: then the next tier drops the copy.
            core::log_warn("retry", "promotion_failed", {{"why", why.message}});
            if (!std::exchange(one->in_doubt, true)) ++in_doubt_[one->topic];
        });
}

void PartitionTiers::written(const Promotion& promotion, const log::Appended& where) {
    const auto topic = promotion.topic;
    const bool dead = topic == Topic::kRetryDead;
    ++context_.tally.deliveries[dead ? DeliveryEnd::dead : DeliveryEnd::promoted];
    --publishing_[topic];
    unconfirmed_.erase(promotion.name);
    if (promotion.in_doubt) --in_doubt_[topic];
    // A promotion in doubt may stand before this one, and its source is not finished.
    if (in_doubt_[topic] == 0) scan_from_[topic] = std::max(scan_from_[topic], where.offset + 1);
    for (const auto& [tier, opened] : tiers_) {
        if (Topic::retry(tier) != topic) continue;
        opened->clock().appended({.offset = where.offset, .time = where.time}, promotion.sent);
    }
    finish(promotion.ticket);
}

/// Whether all records from which the scans' deliveries were promoted have been read, and so count
/// as finished. They had been due at a former home.
bool PartitionTiers::has_read_sources() const {
    return std::all_of(tiers_.begin(), tiers_.end(),
                       [](const auto& tier) { return tier.second->caught_up(); });
}

/// Most deliveries of a tier are written by other homes, and this home's own promotions may be
/// rare. While none of them is under way, all that was read came from records that are finished.
Offset PartitionTiers::scanned_up_to(Topic topic) const {
    if (!has_read_sources()) return scan_began_.at(topic);
    const auto own = scan_from_.at(topic);
    const auto under_way = publishing_.find(topic);
    if (under_way != publishing_.end() && under_way->second > 0) return own;
    for (const auto& [tier, opened] : tiers_) {
        if (Topic::retry(tier) == topic) return std::max(own, opened->position());
    }
    return own;
}

DoneRecord PartitionTiers::done_record() const {
    DoneRecord done{.partition = options_.partition,
                    .epoch = options_.epoch,
                    .delays = {},
                    .tiers = {},
                    .dead_scan = scanned_up_to(Topic::kRetryDead),
                    .events_next = events_next_};
    for (int step = 0; step < options_.table.steps(); ++step) {
        done.delays.push_back(options_.table.delay(step));
    }
    for (const auto& [tier, opened] : tiers_) {
        done.tiers[tier] = {opened->finished(), scanned_up_to(Topic::retry(tier))};
    }
    return done;
}

bool PartitionTiers::changed() const {
    return unrecorded_ || std::any_of(tiers_.begin(), tiers_.end(),
                                      [](const auto& t) { return t.second->changed(); });
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
    for (const auto& [tier, opened] : tiers_) opened->clear_changed();
    context_.publisher.publish(
        at(Topic::kRetryDone), encode(done_record()),
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
    publish(Topic::retry(tier), ticket, delivery, encode(delivery));
}

void PartitionTiers::dead_letter(const Ticket& ticket, Delivery delivery) {
    ++delivery.hop;
    publish(Topic::kRetryDead, ticket, delivery, encode_dead(delivery));
}

void PartitionTiers::stop(std::function<void()> stopped) {
    stopping_ = true;
    if (tiers_.empty()) return context_.executor.post(std::move(stopped));
    record(std::move(stopped));
}

void PartitionTiers::set_paused(bool is) {
    if (std::exchange(paused_, is) == is) return;
    if (!is) capacity_made();
}

void PartitionTiers::fanned_out_up_to(Offset next) {
    unrecorded_ |= next != events_next_;
    events_next_ = next;
}

std::vector<TierState> PartitionTiers::states() const {
    std::vector<TierState> states;
    for (const auto& [tier, opened] : tiers_) states.push_back(opened->state());
    return states;
}

}  // namespace beckon::retry
