#include "retry/dispatch/dispatcher.hpp"

#include "core/lifetime.hpp"
#include "core/logger.hpp"
#include "retry/attempt/attempt_outcome.hpp"
#include "retry/dispatch/delivery_line.hpp"
#include "retry/schedule/breaker.hpp"
#include "retry/schedule/requeues.hpp"
#include "retry/webhook/request_builder.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace beckon::retry {

using core::Duration;

namespace {

/// It has not waited in a tier yet.
bool is_new(const Due& due) { return due.ticket.tier == 0; }

}  // namespace

struct Dispatcher::Impl {
    Impl(Options o, Context p)
        : options(std::move(o)),
          context(std::move(p)),
          scheduler(options.schedule),
          engine({.executor = context.executor,
                  .clock = context.clock,
                  .stop_at = options.stop_at,
                  .journal = context.journal},
                 [this] { pump(); }) {}

    /// The state of a webhook that is remembered while it matters.
    struct Receiver {
        Receiver(LinePlaces& places, std::string owner) : line(places, std::move(owner)) {}
        Breaker breaker;
        std::optional<core::Timestamp> failing_since;
        bool failing_published = false;  ///< the log knows, or will
        /// Of an ordered webhook: the deliveries that are here or wait in tiers, in their order,
        /// and the tier in which the last of these waits.
        DeliveryLine line;
        int line_tier = 0;
        /// The last one for which the line had no space. Until it is in the line or over, new
        /// deliveries wait behind it.
        std::optional<std::string> beyond_line;
        Requeues requeues;
        core::Partition partition = 0;  ///< of its deliveries
    };

    const Options options;
    const Context context;
    Scheduler scheduler;
    LinePlaces line_places;
    std::map<std::string, Receiver, std::less<>> receivers;
    std::size_t sweep_at = kRememberedMin;  ///< receivers, for those that were deleted
    RecentAttempts attempts;
    Counts counts;
    std::map<std::string, OwnerUsage, std::less<>> usage;
    std::size_t sweep_usage_at = kOwnersMax;
    /// Deliveries of unknown webhooks, while the log's records of these are read.
    std::map<std::string, std::vector<Due>> unknown;
    bool poll_posted = false;
    AttemptEngine engine;
    core::Lifetime lifetime{context.executor};

    Receiver& receiver(const std::string& webhook);
    void forget_deleted();
    bool put_aside(const Due& due, const WebhookDirectory::Entry* entry);
    bool put_behind(const Due& due, const Webhook& webhook);
    bool wait_for_breaker(const Due& due);
    void wait(const Due& due, Duration how_long, std::uint64_t& count);
    std::optional<int> tier_for_wait(const Due& due, Duration how_long);
    void promote(const Due& due, int tier);
    void came_back(const Ticket& ticket, const std::string& webhook);
    void dead_letter(const Due& due, Outcome why);
    void not_known(const Due& due);
    void caught_up(const std::string& webhook, bool all_read);
    void take(Due due);
    OwnerUsage& usage_by(const std::string& owner);
    core::Timestamp log_time(const Due& due) const { return log_now(due, context.clock.mono()); }

    void pump();
    void poll_again();
    void start(Job started, const WebhookDirectory::Entry& entry);
    void give_back(const Job& job);
    void ended(const Job& job, core::Timestamp at, const HttpAnswer& answer, bool ours);
    void count(const Job& job, const HttpAnswer& answer, Outcome outcome);
    void remember(const Job& job, core::Timestamp at, const HttpAnswer& answer, Outcome outcome);
    void follow(const Job& job, const Verdict& verdict);
    void failed(const Job& job, const Verdict& verdict);
    static void forget_failures_before(Receiver& receiver,
                                       std::optional<core::Timestamp> enabled_at);
    void judge_receiver(const Job& job, Outcome outcome);
    void leave_line(const Delivery& delivery);
    bool is_next(Receiver& receiver, const std::string& delivery) const;
    void join_line(Receiver& receiver, const Due& due, int tier);
    static DeliveryLine::Place* enter_line(Receiver& receiver, const std::string& id, bool is_new);
};

Dispatcher::Impl::Receiver& Dispatcher::Impl::receiver(const std::string& webhook) {
    if (receivers.size() >= sweep_at && !receivers.contains(webhook)) forget_deleted();
    const auto found = receivers.find(webhook);
    if (found != receivers.end()) return found->second;
    const auto* entry = context.webhooks.find(webhook);
    auto owner = entry ? entry->webhook.owner : std::string{};
    return receivers.try_emplace(webhook, line_places, std::move(owner)).first->second;
}

/// The dispatcher is not notified of deleted webhooks, so it checks all of them each time that
/// their number has doubled.
void Dispatcher::Impl::forget_deleted() {
    std::erase_if(receivers, [&](const auto& one) { return !context.webhooks.find(one.first); });
    sweep_at = std::max(kRememberedMin, 2 * receivers.size());
}

/// True if the delivery is not to be attempted, and its outcome is written.
bool Dispatcher::Impl::put_aside(const Due& due, const WebhookDirectory::Entry* entry) {
    if (!entry) {
        not_known(due);
        return true;
    }
    if (!entry->state.enabled) {
        dead_letter(due, Outcome::undeliverable);
        return true;
    }
    if (log_time(due) - due.delivery.accepted > options.age_max) {
        dead_letter(due, Outcome::expired);
        return true;
    }
    if (engine.has_ended_processes(due)) {
        dead_letter(due, Outcome::crashed);
        return true;
    }
    return wait_for_breaker(due);
}

/// Nothing is dropped by a view that may be stale: it is dropped when the webhook is not there
/// after a read barrier that came after it.
void Dispatcher::Impl::not_known(const Due& due) {
    if (log_time(due) - due.delivery.accepted < kUnknownFor) {
        return wait(due, kUnknownFor / 24, counts.unknown);
    }
    const auto id = due.delivery.webhook;
    auto& waiting = unknown[id];
    waiting.push_back(due);
    if (waiting.size() > 1)
        return;  // asked already: this one is older than the answer or waits again
    context.catch_up(id, lifetime.guard([this, id](bool all_read) { caught_up(id, all_read); }));
}

void Dispatcher::Impl::caught_up(const std::string& webhook, bool all_read) {
    const auto node = unknown.extract(webhook);
    if (node.empty()) return;
    const bool known = context.webhooks.find(webhook) != nullptr;
    for (auto& due : node.mapped()) {
        if (known) {
            take(std::move(due));
        } else if (!all_read) {
            wait(due, kUnknownFor / 24, counts.unknown);
        } else {
            ++counts.unknown;
            context.outcomes.finish(due.ticket);
        }
    }
    if (!known && all_read) receivers.erase(webhook);
}

/// An ordered webhook: deliveries behind a failed one wait where that waits.
bool Dispatcher::Impl::put_behind(const Due& due, const Webhook& webhook) {
    if (!webhook.ordered) return false;
    auto& receiver = this->receiver(webhook.id);
    const bool overtakes = receiver.beyond_line && is_new(due);
    if (is_next(receiver, due.delivery.id) && !overtakes) return false;
    ++counts.followed;
    const auto& tiers = options.table.tiers();
    // Never in tier 0, which hands it back at once.
    const int tier = std::max(receiver.line_tier, tiers.size() > 1 ? tiers[1] : 0);
    join_line(receiver, due, tier);
    promote(due, tier);
    return true;
}

bool Dispatcher::Impl::is_next(Receiver& receiver, const std::string& delivery) const {
    auto& line = receiver.line;
    const auto now = context.clock.mono();
    while (!line.empty() && line.front().gone && *line.front().gone < now) line.pop_front();
    return line.empty() || line.front().delivery == delivery;
}

bool Dispatcher::Impl::wait_for_breaker(const Due& due) {
    const auto found = receivers.find(due.delivery.webhook);
    if (found == receivers.end()) return false;
    const auto left = found->second.breaker.closed_in(context.clock.mono());
    if (left <= Duration::zero()) return false;
    wait(due, left, counts.parked);
    return true;
}

void Dispatcher::Impl::wait(const Due& due, Duration how_long, std::uint64_t& count) {
    const auto tier = tier_for_wait(due, how_long);
    if (!tier) return dead_letter(due, due.delivery.last.value_or(Outcome::undeliverable));
    ++count;
    promote(due, *tier);
}

/// A waiting delivery of an ordered webhook must not be overtaken by a later one.
std::optional<int> Dispatcher::Impl::tier_for_wait(const Due& due, Duration how_long) {
    const auto now = context.clock.mono();
    const auto* entry = context.webhooks.find(due.delivery.webhook);
    if (!entry) return Requeues{}.tier_for(options.table, how_long, now);
    auto& receiver = this->receiver(due.delivery.webhook);
    auto tier = receiver.requeues.tier_for(options.table, how_long, now);
    if (!tier || !entry->webhook.ordered) return tier;
    if (!is_next(receiver, due.delivery.id)) tier = std::max(*tier, receiver.line_tier);
    join_line(receiver, due, *tier);
    return tier;
}

void Dispatcher::Impl::promote(const Due& due, int tier) {
    const auto found = receivers.find(due.delivery.webhook);
    if (found != receivers.end()) {
        found->second.partition = due.ticket.partition;
        found->second.requeues.put(options.table, tier, context.clock.mono());
    }
    context.outcomes.promote(due.ticket, due.delivery, tier);
}

void Dispatcher::Impl::came_back(const Ticket& ticket, const std::string& webhook) {
    const auto found = receivers.find(webhook);
    if (found != receivers.end()) found->second.requeues.came_back(ticket.tier);
}

void Dispatcher::Impl::dead_letter(const Due& due, Outcome why) {
    auto dead = due.delivery;
    dead.last = why;
    leave_line(dead);
    context.outcomes.dead_letter(due.ticket, std::move(dead));
}

void Dispatcher::Impl::pump() {
    const auto until = context.clock.mono() + kTurn;
    for (std::size_t taken = 0; !engine.draining(); ++taken) {
        const bool over = taken > 0 && context.clock.mono() >= until;
        // The thread has others first.
        if (over || taken >= kStartsPerTurn) return engine.pump_soon();
        auto job = scheduler.next(context.clock.mono());
        if (!job) return poll_again();
        const auto* entry = context.webhooks.find(job->due.delivery.webhook);
        if (put_aside(job->due, entry) || put_behind(job->due, entry->webhook) ||
            engine.too_late(entry->webhook.timeout)) {
            give_back(*job);  // too late: the record waits for the next run
        } else {
            start(std::move(*job), *entry);
        }
    }
}

/// An owner's share may grow with time alone (Scheduler::kQuick).
void Dispatcher::Impl::poll_again() {
    if (scheduler.waiting() == 0 || std::exchange(poll_posted, true)) return;
    context.executor.post_after(kPollAgain, lifetime.guard([this] {
        poll_posted = false;
        pump();
    }));
}

/// The job takes no place after all.
void Dispatcher::Impl::give_back(const Job& job) {
    scheduler.ended({.attempt = job.attempt, .attempted = false});
}

void Dispatcher::Impl::start(Job started, const WebhookDirectory::Entry& entry) {
    receiver(entry.webhook.id).breaker.start();
    const auto at = context.clock.wall();
    const auto job = std::make_shared<const Job>(std::move(started));
    engine.begin<HttpAnswer>(
        {job, &job->due},
        [&](const auto& done) {
            context.send(build_request(entry.webhook, job->due.delivery, at), done);
        },
        [this, job, at](const HttpAnswer& answer, bool ours) { ended(*job, at, answer, ours); },
        {.end = HttpAnswer::End::unsendable, .why = "making its request threw"});
}

void Dispatcher::Impl::ended(const Job& job, core::Timestamp at, const HttpAnswer& answer,
                             bool ours) {
    const auto verdict = verdict_of(answer);
    ++counts.attempts[verdict.outcome];
    scheduler.ended(
        {.attempt = job.attempt, .took = answer.took, .overloaded = is_overload(verdict.outcome)});
    count(job, answer, verdict.outcome);
    remember(job, at, answer, verdict.outcome);
    judge_receiver(job, verdict.outcome);
    if (ours) follow(job, verdict);
}

OwnerUsage& Dispatcher::Impl::usage_by(const std::string& owner) {
    if (usage.size() >= sweep_usage_at && !usage.contains(owner)) {
        std::erase_if(usage,
                      [&](const auto& one) { return context.webhooks.count_of(one.first) == 0; });
        sweep_usage_at = std::max(kOwnersMax, 2 * usage.size());
    }
    return usage[owner];
}

void Dispatcher::Impl::count(const Job& job, const HttpAnswer& answer, Outcome outcome) {
    auto& used = usage_by(job.owner);
    ++used.attempts;
    used.delivered += outcome == Outcome::delivered ? 1 : 0;
    used.bytes += job.due.delivery.event.size();
    used.time += answer.took;
}

void Dispatcher::Impl::remember(const Job& job, core::Timestamp at, const HttpAnswer& answer,
                                Outcome outcome) {
    const auto& delivery = job.due.delivery;
    Attempt attempt{.delivery = delivery.id,
                    .number = delivery.attempts,
                    .at = at,
                    .took = answer.took,
                    .outcome = outcome,
                    .status = answer.status,
                    .why = why_text(answer),
                    .answer = answer.body};
    if (context.attempted) context.attempted(delivery.webhook, attempt);
    attempts.add(job.owner, delivery.webhook, std::move(attempt));
    core::log_debug("retry", "attempt",
                    {{"delivery", delivery.id},
                     {"number", delivery.attempts},
                     {"outcome", to_string(outcome)},
                     {"status", answer.status}});
}

/// An owner who enables a webhook again declares that it works.
void Dispatcher::Impl::forget_failures_before(Receiver& receiver,
                                              std::optional<core::Timestamp> enabled_at) {
    if (!receiver.failing_since || !enabled_at || *receiver.failing_since >= *enabled_at) return;
    receiver.failing_since.reset();
    receiver.failing_published = false;
    receiver.breaker = {};
    receiver.breaker.start();
}

/// Breaker, and since when nothing was accepted.
void Dispatcher::Impl::judge_receiver(const Job& job, Outcome outcome) {
    const auto& id = job.due.delivery.webhook;
    auto& receiver = this->receiver(id);
    const auto* entry = context.webhooks.find(id);
    if (!entry || !entry->state.enabled) return;
    forget_failures_before(receiver, entry->state.enabled_at);
    const auto known_since = entry->state.failing_since;
    auto state = entry->state;
    if (outcome == Outcome::delivered) {
        receiver.breaker.succeeded();
        receiver.failing_since.reset();
        const bool reported = std::exchange(receiver.failing_published, false);
        state.failing_since.reset();
        if (known_since || reported) context.change_state(id, state);
        return;
    }
    receiver.breaker.failed(context.clock.mono());
    if (outcome == Outcome::gone) {
        state.enabled = false;
        state.reason = "gone";
        return context.change_state(id, state);
    }
    const auto now = log_time(job.due);
    if (!receiver.failing_since) receiver.failing_since = known_since.value_or(now);
    const bool for_good = now - *receiver.failing_since > options.failing_max;
    // One failure among others is not worth a record.
    if (!for_good && (known_since || receiver.failing_published || !receiver.breaker.open()))
        return;
    receiver.failing_published = true;
    state.enabled = !for_good;
    state.reason = for_good ? "failing" : "";
    state.failing_since = receiver.failing_since;
    context.change_state(id, state);
}

void Dispatcher::Impl::follow(const Job& job, const Verdict& verdict) {
    const auto& due = job.due;
    switch (verdict.outcome) {
        case Outcome::delivered:
            leave_line(due.delivery);
            return context.outcomes.finish(due.ticket);
        case Outcome::gone: {
            auto dead = due;
            ++dead.delivery.attempts;
            return dead_letter(dead, Outcome::gone);
        }
        case Outcome::refused:
        case Outcome::throttled:
        case Outcome::timed_out:
        case Outcome::unreachable:
        case Outcome::forbidden:
        case Outcome::too_large:
        case Outcome::undeliverable:
        case Outcome::expired:
        case Outcome::filter_too_costly:
        case Outcome::crashed: return failed(job, verdict);
    }
}

void Dispatcher::Impl::failed(const Job& job, const Verdict& verdict) {
    auto due = job.due;
    ++due.delivery.attempts;
    due.delivery.last = verdict.outcome;
    const auto step = options.table.next(due.delivery.step, verdict.not_before);
    if (!step) return dead_letter(due, verdict.outcome);
    due.delivery.step = *step;
    const int tier = options.table.tier_of(*step);
    const auto* entry = context.webhooks.find(due.delivery.webhook);
    if (entry && entry->webhook.ordered) {
        join_line(receiver(due.delivery.webhook), due, tier);
    }
    promote(due, tier);
}

void Dispatcher::Impl::leave_line(const Delivery& delivery) {
    const auto found = receivers.find(delivery.webhook);
    if (found == receivers.end()) return;
    found->second.line.erase(delivery.id);
    if (found->second.beyond_line == delivery.id) found->second.beyond_line.reset();
}

/// It waits in a tier.
void Dispatcher::Impl::join_line(Receiver& receiver, const Due& due, int tier) {
    receiver.line_tier = tier;
    auto* place = enter_line(receiver, due.delivery.id, is_new(due));
    if (place) place->gone = context.clock.mono() + options.table.delay(tier) + Requeues::kLate;
}

/// Its place, at the end if it has none yet. nullptr: it is beyond the line.
DeliveryLine::Place* Dispatcher::Impl::enter_line(Receiver& receiver, const std::string& id,
                                                  bool is_new) {
    auto& line = receiver.line;
    if (auto* found = line.find(id)) return found;
    if (!line.has_capacity() || (receiver.beyond_line && is_new)) {
        receiver.beyond_line = id;
        return nullptr;
    }
    if (receiver.beyond_line == id) receiver.beyond_line.reset();
    return &line.push_back(id);
}

void Dispatcher::Impl::take(Due due) {
    const auto* entry = context.webhooks.find(due.delivery.webhook);
    if (put_aside(due, entry)) return;
    const auto id = due.delivery.id;
    const auto partition = due.ticket.partition;
    const bool first = is_new(due);
    Job job{.due = std::move(due),
            .owner = entry->webhook.owner,
            .host = entry->host,
            .cap_max = entry->webhook.ordered ? 1 : entry->webhook.at_a_time,
            .failing = entry->state.failing_since.has_value()};
    if (const auto how_long = scheduler.add(job)) {
        ++usage_by(job.owner).requeued;
        return wait(job.due, *how_long, counts.spilled);
    }
    if (entry->webhook.ordered) {
        auto& receiver = this->receiver(entry->webhook.id);
        receiver.partition = partition;
        auto* place = enter_line(receiver, id, first);
        if (place) place->gone.reset();
    }
    engine.pump_soon();
}

OwnerUsage& OwnerUsage::operator+=(const OwnerUsage& other) {
    attempts += other.attempts;
    delivered += other.delivered;
    bytes += other.bytes;
    requeued += other.requeued;
    time += other.time;
    under_way += other.under_way;
    waiting += other.waiting;
    return *this;
}

Dispatcher::Dispatcher(Options options, Context context)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(context))) {}

Dispatcher::~Dispatcher() = default;

void Dispatcher::due(Due due) {
    impl_->came_back(due.ticket, due.delivery.webhook);
    impl_->take(std::move(due));
}

void Dispatcher::forget(core::Partition partition) {
    impl_->scheduler.forget(partition);
    impl_->engine.forget(partition);
    for (auto& [webhook, waiting] : impl_->unknown) {
        std::erase_if(waiting, [&](const Due& due) { return due.ticket.partition == partition; });
    }
    for (auto& [id, receiver] : impl_->receivers) {
        if (receiver.partition != partition) continue;
        receiver.requeues = {};
        receiver.line.clear();  // another node ends these
        receiver.beyond_line.reset();
    }
}

void Dispatcher::drain(std::function<void()> done) { impl_->engine.drain(std::move(done)); }
void Dispatcher::resume() { impl_->engine.resume(); }

const Dispatcher::Counts& Dispatcher::counts() const { return impl_->counts; }
std::size_t Dispatcher::under_way() const { return impl_->scheduler.in_flight(); }
std::size_t Dispatcher::waiting() const { return impl_->scheduler.waiting(); }
std::size_t Dispatcher::remembered() const { return impl_->receivers.size(); }

const std::map<std::string, OwnerUsage, std::less<>>& Dispatcher::usage() const {
    return impl_->usage;
}

OwnerUsage Dispatcher::usage_of(std::string_view owner) const {
    const auto found = impl_->usage.find(owner);
    auto used = found == impl_->usage.end() ? OwnerUsage{} : found->second;
    used.under_way = impl_->scheduler.in_flight_of(owner);
    used.waiting = impl_->scheduler.waiting_of(owner);
    return used;
}

std::vector<Attempt> Dispatcher::attempts_of(std::string_view webhook) const {
    return impl_->attempts.of(webhook);
}

AttemptSummary Dispatcher::summary_of(std::string_view webhook) const {
    return impl_->attempts.summary_of(webhook);
}

std::vector<AttemptHour> Dispatcher::hours_of(std::string_view webhook) const {
    return impl_->attempts.hours_of(webhook);
}

}  // namespace beckon::retry
