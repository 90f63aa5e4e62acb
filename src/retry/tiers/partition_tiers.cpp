#include "retry/tiers/partition_tiers.hpp"

#include "core/assert.hpp"
#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "log/until.hpp"
#include "retry/tiers/tier_scan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace beckon::retry {

using core::Duration;
using core::Fault;
using core::Offset;
using log::Topic;
using log::TopicPartition;

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

struct PartitionTiers::Impl {
    Impl(Options o, log::EventLog& l, log::Publisher& p, core::Executor& x, const core::Clock& c,
         Events e)
        : options(std::move(o)),
          log(l),
          publisher(p),
          executor(x),
          clock(c),
          events(std::move(e)) {}

    const Options options;
    log::EventLog& log;
    log::Publisher& publisher;
    core::Executor& executor;
    const core::Clock& clock;
    const Events events;
    core::Lifetime lifetime{executor};  ///< answers may come when the executor is gone

    /// Take-over: a scan of each tier and of `retry.dead`; by Topic.
    std::map<Topic, std::unique_ptr<TierScan>> scans;
    std::map<Topic, TierScan::Found> scanned;
    std::unordered_map<std::string, std::uint32_t>
        seen;                                ///< the highest hop of each promoted delivery
    std::optional<Topic> waiting_otherwise;  ///< a tier with deliveries that wait by another table

    std::map<int, std::unique_ptr<Tier>> tiers;  ///< empty until started
    std::map<Topic, Offset> scan_from;           ///< see DoneRecord::Tier::scan
    std::map<Topic, Offset> scan_began;          ///< where the scans of this take-over began
    std::map<Topic, std::size_t> publishing;     ///< promotions that the log has not confirmed
    /// Of these the ones that it may have all the same, somewhere behind scan_from.
    std::map<Topic, std::size_t> in_doubt;
    /// Deliveries (id and hop) whose promotions the log has not confirmed.
    std::set<std::pair<std::string, std::uint32_t>> unconfirmed;
    std::map<Ticket, std::size_t> window;  ///< bytes of each delivery that was handed on
    std::size_t window_bytes = 0;
    std::map<int, std::size_t> window_of;  ///< number by tier
    bool capacity_posted = false;
    bool stopping = false;
    bool paused = false;
    bool recording = false;  ///< a DoneRecord is on its way
    bool unrecorded = true;  ///< none was written yet, or the last one failed
    Offset events_next = options.from ? options.from->events_next : 0;
    FanOutState fan_out = options.from ? options.from->fan_out : FanOutState{};
    std::uint64_t promoted = 0;
    std::uint64_t dead_lettered = 0;
    std::uint64_t lost = 0;

    TopicPartition at(Topic topic) const { return {topic, options.partition}; }
    log::Until again() const { return {lifetime, executor}; }
    std::vector<Topic> topics() const;
    std::optional<Offset> scan_start(Topic topic) const;
    bool is_timed_otherwise(int tier) const;
    void start();
    void scan(Topic topic);
    void scan_done(Topic topic, const core::Result<TierScan::Found>& found);
    void note_waiting(Topic topic, Offset offset);
    bool refuse_other_table();
    void open_tiers();
    void open_tier(int tier);
    void count_lost(int tier, OffsetRange range, const Finished& finished);
    void read_gap(int tier, OffsetRange gap, const Finished& finished);

    bool has_capacity(int tier) const;
    bool went_on(const Delivery& delivery) const;
    void due(Due due);
    void take_into_window(const Due& due);
    void set_aside(const Due& due);
    void finish(const Ticket& ticket);
    void capacity_made();
    /// A record on its way to another tier or to `retry.dead`.
    struct Promotion {
        Topic topic = Topic::kRetryDead;
        Ticket ticket;
        core::Record record;
        std::pair<std::string, std::uint32_t> name;  ///< id and hop
        std::uint64_t* count = nullptr;
        bool in_doubt = false;  ///< the log may have it since an earlier try
        core::MonoTime sent{};  ///< the last try
    };
    void publish(Promotion promotion);
    void written(const Promotion& promotion, const log::Appended& where);

    bool has_read_sources() const;
    Offset scanned_up_to(Topic topic) const;
    DoneRecord done_record() const;
    bool changed() const;
    core::Record begin_record();
    void not_recorded(const core::Error& why);
    void record_soon();
    void record(std::function<void()> then);
    void record_fan_out(std::function<void()> then);
    void fail(const core::Error& why);
};

std::vector<Topic> PartitionTiers::Impl::topics() const {
    std::vector<Topic> all;
    for (const int tier : options.table.tiers()) all.push_back(Topic::retry(tier));
    if (options.from) {
        for (const auto& [tier, state] : options.from->tiers) {
            const auto topic = Topic::retry(tier);
            if (std::find(all.begin(), all.end(), topic) == all.end()) all.push_back(topic);
        }
    }
    all.push_back(Topic::kRetryDead);
    return all;
}

/// True if the deliveries in this tier wait by another delay than the present table has.
bool PartitionTiers::Impl::is_timed_otherwise(int tier) const {
    const auto step = static_cast<std::size_t>(tier);
    const auto& before = options.from->delays;
    if (step >= before.size()) return false;
    return tier >= options.table.steps() || options.table.delay(tier) != before[step];
}

std::optional<Offset> PartitionTiers::Impl::scan_start(Topic topic) const {
    if (!options.from) return std::nullopt;
    if (topic == Topic::kRetryDead) return options.from->dead_scan;
    for (const auto& [tier, state] : options.from->tiers) {
        if (Topic::retry(tier) != topic) continue;
        return is_timed_otherwise(tier) ? std::min(state.scan, state.finished.low) : state.scan;
    }
    return std::nullopt;
}

void PartitionTiers::Impl::start() {
    for (const auto topic : topics()) scan(topic);
}

void PartitionTiers::Impl::scan(Topic topic) {
    TierScan::Events answers{.seen =
                                 [this, topic](Offset offset, const Delivery& delivery) {
                                     note_waiting(topic, offset);
                                     if (delivery.hop == 0) return;  // not promoted yet
                                     auto& highest = seen[delivery.id];
                                     highest = std::max(highest, delivery.hop);
                                 },
                             .done = [this, topic](const auto& found) { scan_done(topic, found); }};
    auto& scan = scans[topic];
    scan = std::make_unique<TierScan>(at(topic), scan_start(topic), options.node, log, publisher,
                                      executor, clock, std::move(answers));
    scan->start();
}

void PartitionTiers::Impl::scan_done(Topic topic, const core::Result<TierScan::Found>& found) {
    if (!found) return fail(found.error());
    scanned[topic] = *found;
    scan_from[topic] = found->end;
    scan_began[topic] = scan_start(topic).value_or(found->end);
    if (scanned.size() < scans.size()) return;
    scans.clear();
    if (refuse_other_table()) return;
    open_tiers();
    record_soon();
    events.started();
}

void PartitionTiers::Impl::note_waiting(Topic topic, Offset offset) {
    if (!options.from || waiting_otherwise) return;
    for (const auto& [tier, state] : options.from->tiers) {
        if (Topic::retry(tier) != topic || !is_timed_otherwise(tier)) continue;
        if (!DoneTracker{state.finished}.is_finished(offset)) waiting_otherwise = topic;
    }
}

/// Deliveries wait in a tier by another delay: then nothing is touched.
bool PartitionTiers::Impl::refuse_other_table() {
    if (!waiting_otherwise) return false;
    const auto before = TierTable::from(options.from->delays);
    fail({Fault::conflict, "partition " + std::to_string(options.partition) + ": " +
                               waiting_otherwise->name() +
                               " holds deliveries that wait by the tier table `" +
                               (before ? before->text() : std::string{"(broken)"}) +
                               "`, `control` has `" + options.table.text() + "`"});
    return true;
}

void PartitionTiers::Impl::open_tiers() {
    for (const int tier : options.table.tiers()) open_tier(tier);
    for (const auto& [tier, opened] : tiers) opened->start();
}

void PartitionTiers::Impl::open_tier(int tier) {
    const auto& barrier = scanned.at(Topic::retry(tier));
    Finished from;
    if (options.from && options.from->tiers.contains(tier)) {
        from = options.from->tiers.at(tier).finished;
        count_lost(tier, {from.low, barrier.start}, from);
    }
    auto opened = std::make_unique<Tier>(
        Tier::Options{options.partition, options.epoch, tier, options.table.delay(tier),
                      std::move(from), barrier.start},
        log, executor, clock,
        Tier::Events{
            .has_capacity = [this, tier] { return has_capacity(tier); },
            .due = [this](Due one) { due(std::move(one)); },
            .unreadable = [this](const Due& one) { set_aside(one); },
            .went_on = [this](const Delivery& d) { return went_on(d); },
            .is_unconfirmed =
                [this](const Delivery& d) {
                    return unconfirmed.contains({d.id, d.hop});
                },
            .gap = [this, tier](OffsetRange gap,
                                const Finished& finished) { read_gap(tier, gap, finished); },
            .failed = [this](const core::Error& why) { fail(why); }});
    opened->clock().appended({.offset = barrier.end - 1, .time = barrier.time}, barrier.sent,
                             barrier.seen);
    tiers[tier] = std::move(opened);
}

void PartitionTiers::Impl::count_lost(int tier, OffsetRange range, const Finished& finished) {
    const auto missing = unfinished_in(range, finished);
    if (missing == 0) return;
    lost += missing;
    core::log_error("retry", "deliveries_lost",
                    {{"tier", tier},
                     {"partition", options.partition},
                     {"count", missing},
                     {"from", range.begin},
                     {"log_start", range.end}});
}

/// Records below the log's start were removed by retention; other gaps hold no records.
void PartitionTiers::Impl::read_gap(int tier, OffsetRange gap, const Finished& finished) {
    log::until_known(again(), log, at(Topic::retry(tier)),
                     [this, tier, gap, finished](const core::Result<log::Ends>& ends) {
                         if (!ends) return fail(ends.error());
                         count_lost(tier, {gap.begin, std::min(gap.end, ends->start)}, finished);
                     });
}

bool PartitionTiers::Impl::has_capacity(int tier) const {
    if (stopping || paused || window.size() >= options.window_max) return false;
    if (window_bytes >= options.window_bytes_max) return false;
    // No tier fills the window alone: newly failed work never delays new work, nor the other way.
    const auto mine = window_of.find(tier);
    return mine == window_of.end() || mine->second < options.window_max - options.window_max / 8;
}

bool PartitionTiers::Impl::went_on(const Delivery& delivery) const {
    const auto found = seen.find(delivery.id);
    return found != seen.end() && found->second > delivery.hop;
}

void PartitionTiers::Impl::take_into_window(const Due& due) {
    const auto bytes = bytes_in_window(due.delivery);
    window.emplace(due.ticket, bytes);
    window_bytes += bytes;
    ++window_of[due.ticket.tier];
}

void PartitionTiers::Impl::due(Due due) {
    take_into_window(due);
    events.due(std::move(due));
}

/// Its reader is in the middle of a record, so the effects come after it.
void PartitionTiers::Impl::set_aside(const Due& due) {
    take_into_window(due);
    executor.post(lifetime.guard([this, due] {
        publish({.topic = Topic::kRetryDead,
                 .ticket = due.ticket,
                 .record = encode_dead(due.delivery),
                 .name = {due.delivery.id, due.delivery.hop},
                 .count = &dead_lettered});
    }));
}

void PartitionTiers::Impl::finish(const Ticket& ticket) {
    const auto found = window.find(ticket);
    BECKON_ASSERT(found != window.end(), "a delivery is finished once");
    window_bytes -= found->second;
    window.erase(found);
    --window_of[ticket.tier];
    tiers.at(ticket.tier)->finish(ticket.offset);
    capacity_made();
}

void PartitionTiers::Impl::capacity_made() {
    if (std::exchange(capacity_posted, true)) return;
    executor.post(lifetime.guard([this] {
        capacity_posted = false;
        const auto term = lifetime.term();
        for (auto one = tiers.begin(); !term.over() && one != tiers.end(); ++one) {
            one->second->turn();
        }
    }));
}

void PartitionTiers::Impl::publish(Promotion promotion) {
    ++publishing[promotion.topic];
    unconfirmed.insert(promotion.name);
    const auto one = std::make_shared<Promotion>(std::move(promotion));
    log::until_written(
        again(), publisher, at(one->topic),
        [this, one] {
            one->sent = clock.mono();
            return one->record;
        },
        [this, one](const log::Appended& where) { written(*one, where); },
        [this, one](const core::Error& why) {
            // Perhaps it is in the log: then the next tier drops the copy.
            core::log_warn("retry", "promotion_failed", {{"why", why.message}});
            if (!std::exchange(one->in_doubt, true)) ++in_doubt[one->topic];
        });
}

void PartitionTiers::Impl::written(const Promotion& promotion, const log::Appended& where) {
    const auto topic = promotion.topic;
    ++*promotion.count;
    --publishing[topic];
    unconfirmed.erase(promotion.name);
    if (promotion.in_doubt) --in_doubt[topic];
    // A promotion in doubt may stand before this one, and its source is not finished.
    if (in_doubt[topic] == 0) scan_from[topic] = std::max(scan_from[topic], where.offset + 1);
    for (const auto& [tier, opened] : tiers) {
        if (Topic::retry(tier) != topic) continue;
        opened->clock().appended({.offset = where.offset, .time = where.time}, promotion.sent);
    }
    finish(promotion.ticket);
}

/// Whether all records from which the scans' deliveries were promoted have been read, and so count
/// as finished. They had been due at a former home.
bool PartitionTiers::Impl::has_read_sources() const {
    return std::all_of(tiers.begin(), tiers.end(),
                       [](const auto& tier) { return tier.second->caught_up(); });
}

/// Most deliveries of a tier are written by other homes, and this home's own promotions may be
/// rare. While none of them is under way, all that was read came from records that are finished.
Offset PartitionTiers::Impl::scanned_up_to(Topic topic) const {
    if (!has_read_sources()) return scan_began.at(topic);
    const auto own = scan_from.at(topic);
    const auto under_way = publishing.find(topic);
    if (under_way != publishing.end() && under_way->second > 0) return own;
    for (const auto& [tier, opened] : tiers) {
        if (Topic::retry(tier) == topic) return std::max(own, opened->position());
    }
    return own;
}

DoneRecord PartitionTiers::Impl::done_record() const {
    DoneRecord done{.partition = options.partition,
                    .epoch = options.epoch,
                    .delays = {},
                    .tiers = {},
                    .dead_scan = scanned_up_to(Topic::kRetryDead),
                    .events_next = events_next,
                    .fan_out = fan_out};
    for (int step = 0; step < options.table.steps(); ++step) {
        done.delays.push_back(options.table.delay(step));
    }
    for (const auto& [tier, opened] : tiers) {
        done.tiers[tier] = {opened->finished(), scanned_up_to(Topic::retry(tier))};
    }
    return done;
}

bool PartitionTiers::Impl::changed() const {
    return unrecorded || std::any_of(tiers.begin(), tiers.end(),
                                     [](const auto& t) { return t.second->changed(); });
}

void PartitionTiers::Impl::record_soon() {
    executor.post_after(kRecordEvery, lifetime.guard([this] {
        if (changed() && !recording) record([] {});
        if (!stopping) record_soon();
    }));
}

// It needs no log::CheckedPublisher: numbers of ours alone, which bytes of others cannot make
// unreadable; a window of 4,096 deliveries makes at most 8,192 lengths of each tier, so that it
// stays far below a record's bound.
core::Record PartitionTiers::Impl::begin_record() {
    recording = true;
    unrecorded = false;
    for (const auto& [tier, opened] : tiers) opened->clear_changed();
    return encode(done_record());
}

void PartitionTiers::Impl::not_recorded(const core::Error& why) {
    recording = false;
    unrecorded = true;
    core::log_warn("retry", "done_not_recorded",
                   {{"partition", options.partition}, {"why", why.message}});
}

void PartitionTiers::Impl::record(std::function<void()> then) {
    publisher.publish(at(Topic::kRetryDone), begin_record(),
                      lifetime.guard([this, then = std::move(then)](const auto& where) {
                          recording = false;
                          if (!where) not_recorded(where.error());
                          then();
                      }));
}

/// Publishes the state until the log has it; each try has the state of its moment.
void PartitionTiers::Impl::record_fan_out(std::function<void()> then) {
    log::until_written(
        again(), publisher, at(Topic::kRetryDone), [this] { return begin_record(); },
        [this, then = std::move(then)](const auto&) {
            recording = false;
            then();
        },
        [this](const core::Error& why) { not_recorded(why); });
}

void PartitionTiers::Impl::fail(const core::Error& why) {
    if (std::exchange(stopping, true)) return;
    const auto failed = events.failed;  // it may destroy this
    failed(why);
}

PartitionTiers::PartitionTiers(Options options, log::EventLog& log, log::Publisher& publisher,
                               core::Executor& executor, const core::Clock& clock, Events events)
    : impl_(std::make_unique<Impl>(std::move(options), log, publisher, executor, clock,
                                   std::move(events))) {}

PartitionTiers::~PartitionTiers() = default;

void PartitionTiers::start() { impl_->start(); }

void PartitionTiers::finish(const Ticket& ticket) { impl_->finish(ticket); }

void PartitionTiers::promote(const Ticket& ticket, Delivery delivery, int tier) {
    ++delivery.hop;
    impl_->publish({.topic = Topic::retry(tier),
                    .ticket = ticket,
                    .record = encode(delivery),
                    .name = {delivery.id, delivery.hop},
                    .count = &impl_->promoted});
}

void PartitionTiers::dead_letter(const Ticket& ticket, Delivery delivery) {
    ++delivery.hop;
    impl_->publish({.topic = Topic::kRetryDead,
                    .ticket = ticket,
                    .record = encode_dead(delivery),
                    .name = {delivery.id, delivery.hop},
                    .count = &impl_->dead_lettered});
}

void PartitionTiers::stop(std::function<void()> stopped) {
    impl_->stopping = true;
    if (impl_->tiers.empty()) return impl_->executor.post(std::move(stopped));
    impl_->record(std::move(stopped));
}

void PartitionTiers::set_paused(bool is) {
    impl_->paused = is;
    if (!is) impl_->capacity_made();
}

void PartitionTiers::stop_taking() { impl_->stopping = true; }

void PartitionTiers::set_fan_out(FanOutState state, std::function<void()> then) {
    impl_->fan_out = std::move(state);
    impl_->record_fan_out(std::move(then));
}

void PartitionTiers::fan_out_ended() {
    impl_->fan_out.open = false;
    impl_->fan_out.trial.reset();
}

void PartitionTiers::fanned_out_up_to(Offset next) {
    impl_->unrecorded |= next != impl_->events_next;
    impl_->events_next = next;
}

PartitionTiers::Counts PartitionTiers::counts() const {
    Counts all{.tiers = {},
               .promoted = impl_->promoted,
               .dead_lettered = impl_->dead_lettered,
               .lost = impl_->lost};
    for (const auto& [tier, opened] : impl_->tiers) {
        all.tiers.due += opened->counts().due;
        all.tiers.copies += opened->counts().copies;
        all.tiers.broken += opened->counts().broken;
    }
    return all;
}

std::vector<TierState> PartitionTiers::states() const {
    std::vector<TierState> states;
    for (const auto& [tier, opened] : impl_->tiers) states.push_back(opened->state());
    return states;
}

Offset PartitionTiers::events_next() const { return impl_->events_next; }

std::size_t PartitionTiers::in_window() const { return impl_->window.size(); }

}  // namespace beckon::retry
