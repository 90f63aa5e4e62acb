#include "retry/home/dispatcher.hpp"

#include "core/contain.hpp"
#include "core/logger.hpp"
#include "retry/webhook/request_builder.hpp"

#include <algorithm>

namespace beckon::retry {

using core::Duration;

namespace {

/// When the breaker opens, so once for many failures.
void note_failing(const Job& job, const HttpAnswer& answer, Outcome outcome) {
    core::log_sparsely(core::LogLevel::warn, "retry", "webhook_failing",
                       {{"owner", job.owner},
                        {"webhook", job.due.delivery.webhook},
                        {"host", job.host},
                        {"reason", to_string(outcome)},
                        {"status", answer.status},
                        {"why", answer.why}});
}

void note_works_again(const Job& job) {
    core::log_sparsely(
        core::LogLevel::info, "retry", "webhook_works_again",
        {{"owner", job.owner}, {"webhook", job.due.delivery.webhook}, {"host", job.host}});
}

/// It has not waited in a tier yet.
bool is_new(const Due& due) { return due.ticket.tier == 0; }

}  // namespace

Dispatcher::Dispatcher(DeliveryOptions options, Context context)
    : options_(std::move(options)), context_(std::move(context)) {}

Dispatcher::Receiver& Dispatcher::receiver(const std::string& webhook) {
    if (receivers_.size() >= sweep_at_ && !receivers_.contains(webhook)) forget_deleted();
    const auto found = receivers_.find(webhook);
    if (found != receivers_.end()) return found->second;
    const auto* entry = context_.webhooks.find(webhook);
    const auto owner = entry ? entry->webhook.owner : std::string{};
    return receivers_.try_emplace(webhook, line_places_, owner).first->second;
}

/// The dispatcher is not notified of deleted webhooks, so it checks all of them each time that
/// their number has doubled.
void Dispatcher::forget_deleted() {
    std::erase_if(receivers_, [&](const auto& one) {
        if (context_.webhooks.find(one.first)) return false;
        forget_requeues(one.second);
        return true;
    });
    sweep_at_ = std::max(kRememberedMin, 2 * receivers_.size());
}

/// Forgets owners without webhooks, likewise.
Dispatcher::Owner& Dispatcher::owner(const std::string& name) {
    if (owners_.size() >= sweep_owners_at_ && !owners_.contains(name)) {
        std::erase_if(owners_,
                      [&](const auto& one) { return context_.webhooks.count_of(one.first) == 0; });
        sweep_owners_at_ = std::max(kOwnersMax, 2 * owners_.size());
    }
    return owners_[name];
}

/// The receiver counts them no more.
void Dispatcher::forget_requeues(const Receiver& receiver) {
    owner(receiver.owner).requeues.forget(receiver.requeues);
}

/// True if the delivery is not to be attempted, and its outcome is written.
bool Dispatcher::put_aside(const Due& due, const WebhookDirectory::Entry* entry) {
    if (!entry) {
        not_known(due);
        return true;
    }
    std::optional<Outcome> why;
    if (!entry->state.enabled) {
        why = Outcome::webhook_disabled;
    } else if (log_time(due) - due.delivery.accepted > options_.age_max) {
        why = Outcome::expired;
    } else if (context_.queue.has_ended_processes(due)) {
        why = Outcome::crashed;
    }
    if (!why) return wait_for_breaker(due, *entry);
    dead_letter(due, *why);
    return true;
}

/// Nothing is dropped by a view that may be stale: it is dropped when the webhook is not there
/// after a read barrier that came after it.
void Dispatcher::not_known(const Due& due) {
    const auto id = due.delivery.webhook;
    auto& waiting = unknown_[id];
    waiting.push_back(due);
    if (waiting.size() > 1)
        return;  // asked already: this one is older than the answer or waits again
    context_.catch_up(core::partition_of(id, options_.partitions),
                      lifetime_.guard([this, id](bool all_read) { caught_up(id, all_read); }));
}

void Dispatcher::caught_up(const std::string& webhook, bool all_read) {
    const auto node = unknown_.extract(webhook);
    if (node.empty()) return;
    const bool known = context_.webhooks.find(webhook) != nullptr;
    for (auto& due : node.mapped()) {
        if (known) {
            take(std::move(due));
        } else if (!all_read) {
            wait(due, kUnknownWaits, DeliveryEnd::unknown);
        } else {
            count(DeliveryEnd::unknown);
            context_.outcomes.finish(due.ticket);
        }
    }
    if (known || !all_read) return;
    const auto receiver = receivers_.find(webhook);
    if (receiver == receivers_.end()) return;
    forget_requeues(receiver->second);
    receivers_.erase(receiver);
}

/// An ordered webhook: of its deliveries only the first in line is attempted.
bool Dispatcher::put_behind(const Due& due, const Webhook& webhook) {
    if (!webhook.ordered) return false;
    auto& receiver = this->receiver(webhook.id);
    const bool overtakes = receiver.beyond_line && is_new(due);
    if (is_next(receiver, due.delivery.id) && !overtakes) return false;
    count(DeliveryEnd::followed);
    promote(due, tier_for_wait(due, {}).value_or(0));
    return true;
}

/// What is late for longer than kLate is waited for no more: another home has ended it, or its
/// record was a copy.
bool Dispatcher::is_next(Receiver& receiver, const std::string& delivery) const {
    auto& line = receiver.line;
    const auto given_up = context_.home.clock.mono() - Requeues::kLate;
    while (!line.empty() && line.front().due && *line.front().due < given_up) line.pop_front();
    return line.empty() || line.front().delivery == delivery;
}

bool Dispatcher::wait_for_breaker(const Due& due, const WebhookDirectory::Entry& entry) {
    const auto found = receivers_.find(due.delivery.webhook);
    if (found == receivers_.end()) return false;
    forget_failures_before(found->second, entry.state);
    const auto left = found->second.breaker.closed_in(context_.home.clock.mono());
    if (left <= Duration::zero()) return false;
    wait(due, left, DeliveryEnd::parked);
    return true;
}

void Dispatcher::wait(const Due& due, Duration how_long, DeliveryEnd why) {
    const auto tier = tier_for_wait(due, how_long);
    if (!tier) return dead_letter(due, due.delivery.last.value_or(Outcome::undeliverable));
    count(why);
    promote(due, *tier);
}

/// The deliveries of an ordered webhook are attempted in line, so none comes back before the first
/// of them, which may wait for its next attempt. Once that is here they wait no longer than they
/// must: a long tier would keep them from a receiver that accepts again.
std::optional<int> Dispatcher::tier_for_wait(const Due& due, Duration how_long) {
    const auto now = context_.home.clock.mono();
    const auto* entry = context_.webhooks.find(due.delivery.webhook);
    if (!entry) return Requeues{}.tier_for(options_.table, how_long, now);  // it waits once
    auto& receiver = this->receiver(due.delivery.webhook);
    if (!entry->webhook.ordered) return tier_by_requeues(receiver, how_long);
    if (!is_next(receiver, due.delivery.id)) {
        const auto& first = receiver.line.front();
        if (first.due) how_long = std::max(how_long, *first.due - now);
    }
    const auto tier = tier_by_requeues(receiver, how_long);
    if (!tier) return tier;
    return wait_in_line(receiver, due, *tier);
}

/// The shortest tier in which neither its webhook nor its owner has too many: a webhook's bound
/// keeps its own deliveries apart, and an owner's the log from one that has many webhooks.
std::optional<int> Dispatcher::tier_by_requeues(const Receiver& receiver, Duration how_long) {
    const auto now = context_.home.clock.mono();
    const auto by_webhook = receiver.requeues.tier_for(options_.table, how_long, now);
    const auto by_owner = owner(receiver.owner).requeues.tier_for(options_.table, how_long, now);
    return std::max(by_webhook, by_owner);
}

void Dispatcher::promote(const Due& due, int tier) {
    const auto found = receivers_.find(due.delivery.webhook);
    if (found != receivers_.end()) {
        auto& receiver = found->second;
        const auto now = context_.home.clock.mono();
        receiver.partition = due.ticket.partition;
        receiver.requeues.put(options_.table, tier, now);
        owner(receiver.owner).requeues.put(options_.table, tier, now);
    }
    context_.outcomes.promote(due.ticket, due.delivery, tier);
}

void Dispatcher::came_back(const Due& due) {
    const auto found = receivers_.find(due.delivery.webhook);
    if (found == receivers_.end()) return;
    found->second.requeues.came_back(due.ticket.tier);
    owner(found->second.owner).requeues.came_back(due.ticket.tier);
}

void Dispatcher::dead_letter(const Due& due, Outcome why) {
    auto dead = due.delivery;
    dead.last = why;
    leave_line(dead);
    context_.outcomes.dead_letter(due.ticket, std::move(dead));
}

/// `event`: of a delivery that names it, once it is read.
void Dispatcher::begin(Job job, EventText event) {
    const auto& delivery = job.due.delivery;
    const auto* entry = context_.webhooks.find(delivery.webhook);
    if (put_aside(job.due, entry) || put_behind(job.due, entry->webhook) ||
        context_.queue.too_late(entry->webhook.timeout)) {
        return context_.queue.give_back(job);  // too late: the record waits for the next run
    }
    if (delivery.place && !event) event = context_.events.find(*delivery.place);
    if (delivery.place && !event) return read(std::move(job));
    start(std::move(job), *entry, event);
}

/// The attempt keeps its place meanwhile: so an owner has a share of the reads, an ordered webhook
/// none beside it, and a drain waits for it.
void Dispatcher::read(Job job) {
    const auto attempt = job.attempt;
    context_.events.read(*job.due.delivery.place, job.owner,
                         lifetime_.guard([this, attempt](const core::Result<EventText>& event) {
                             was_read(attempt, event);
                         }));
    reading_.emplace(attempt, std::move(job));
}

void Dispatcher::was_read(std::uint64_t attempt, const core::Result<EventText>& event) {
    auto node = reading_.extract(attempt);
    if (node.empty()) return;  // its partition went elsewhere
    auto& job = node.mapped();
    const auto* entry = context_.webhooks.find(job.due.delivery.webhook);
    if (context_.queue.draining()) {
        context_.queue.give_back(job);
        take(std::move(job.due));  // it waits, in case that the drain is called off
    } else if (event && *event) {
        begin(std::move(job), *event);
    } else {
        context_.queue.give_back(job);
        if (!put_aside(job.due, entry)) {
            event ? dead_letter(job.due, Outcome::event_gone)
                  : wait(job.due, kUnreadWaits, DeliveryEnd::unread);
        }
    }
    context_.queue.pump_soon();
}

void Dispatcher::start(Job started, const WebhookDirectory::Entry& entry, const EventText& event) {
    receiver(entry.webhook.id).breaker.start();
    const auto at = context_.home.clock.wall();
    const auto job = std::make_shared<const Job>(std::move(started));
    context_.queue.begin<HttpAnswer>(
        job,
        [&](const auto& done) {
            send(build_request(entry.webhook, job->due.delivery, at, event), entry.webhook, done);
        },
        [this, job, at](const HttpAnswer& answer, bool ours) { ended(*job, at, answer, ours); },
        {.end = HttpAnswer::End::unsendable, .why = "making its request threw"});
}

/// Behind a handshake if the webhook wants one and its receiver was not asked yet: both together
/// take no longer than the webhook's time-out.
void Dispatcher::send(HttpRequest request, const Webhook& webhook,
                      std::function<void(HttpAnswer)> done) {
    auto asked = std::pair{webhook.url, webhook.request_origin};
    if (webhook.request_origin.empty() || receiver(webhook.id).allowed == asked) {
        return context_.send(std::move(request), std::move(done));
    }
    context_.send(build_handshake(webhook), lifetime_.guard([this, webhook, asked, request,
                                                             done](HttpAnswer answer) mutable {
        if (!allows_events(answer, webhook)) {
            const bool good = answer.end == HttpAnswer::End::answered && answer.status / 100 == 2;
            if (good) answer.end = HttpAnswer::End::not_allowed;
            if (answer.why.empty()) answer.why = "the receiver did not allow events (handshake)";
            return done(std::move(answer));
        }
        receiver(webhook.id).allowed = asked;
        request.timeout = std::max<Duration>(request.timeout - answer.took, Duration{1});
        const auto ended = [done, asking = answer.took](HttpAnswer given) {
            given.took += asking;
            done(std::move(given));
        };
        if (core::contain("retry attempts", [&] { context_.send(request, ended); })) return;
        done({.end = HttpAnswer::End::unsendable, .why = "sending its request threw"});
    }));
}

void Dispatcher::ended(const Job& job, core::Timestamp at, const HttpAnswer& answer, bool ours) {
    const auto verdict = verdict_of(answer);
    ++context_.home.tally.attempts[verdict.outcome];
    context_.queue.charge(job.attempt, answer.processor);
    context_.queue.ended(
        {.attempt = job.attempt, .took = answer.took, .overloaded = is_overload(verdict.outcome)});
    note_usage(job, answer, verdict.outcome);
    remember(job, at, answer, verdict.outcome);
    judge_receiver(job, answer, verdict.outcome);
    if (ours) follow(job, verdict);
}

void Dispatcher::note_usage(const Job& job, const HttpAnswer& answer, Outcome outcome) {
    auto& used = owner(job.owner).usage;
    ++used.attempts;
    used.delivered += outcome == Outcome::delivered ? 1 : 0;
    used.bytes += job.due.delivery.event_bytes();
    used.time += answer.took;
}

void Dispatcher::remember(const Job& job, core::Timestamp at, const HttpAnswer& answer,
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
    if (context_.attempted) context_.attempted(delivery.webhook, attempt);
    attempts_.add(job.owner, delivery.webhook, std::move(attempt));
    core::log_debug("retry", "attempt",
                    {{"delivery", delivery.id},
                     {"number", delivery.attempts},
                     {"outcome", to_string(outcome)},
                     {"status", answer.status}});
}

/// An owner who enables a webhook again declares that it works.
void Dispatcher::forget_failures_before(Receiver& receiver, const WebhookState& state) {
    if (std::exchange(receiver.enabled_at, state.enabled_at) == state.enabled_at) return;
    receiver.failing_since.reset();
    receiver.failing_published = false;
    receiver.breaker = {};
}

/// A breaker learns from each attempt, whether its webhook was disabled meanwhile or not.
void Dispatcher::judge_receiver(const Job& job, const HttpAnswer& answer, Outcome outcome) {
    const auto& id = job.due.delivery.webhook;
    auto& receiver = this->receiver(id);
    const auto* entry = context_.webhooks.find(id);
    if (entry) forget_failures_before(receiver, entry->state);
    const bool was_open = receiver.breaker.open();
    if (outcome == Outcome::delivered) {
        receiver.breaker.succeeded();
    } else {
        receiver.breaker.failed(context_.home.clock.mono());
    }
    if (!was_open && receiver.breaker.open()) note_failing(job, answer, outcome);
    if (!entry || !entry->state.enabled) return;
    outcome == Outcome::delivered ? receiver_works(job, receiver, entry->state, was_open)
                                  : receiver_fails(job, receiver, entry->state, outcome);
}

void Dispatcher::receiver_works(const Job& job, Receiver& receiver, WebhookState state,
                                bool was_open) {
    receiver.failing_since.reset();
    const bool known = std::exchange(state.failing_since, std::nullopt).has_value();
    const bool reported = std::exchange(receiver.failing_published, false) || known;
    if (was_open || reported) note_works_again(job);
    if (reported) context_.change_state(job.due.delivery.webhook, state);
}

/// Disables the webhook, or publishes since when nothing was accepted.
void Dispatcher::receiver_fails(const Job& job, Receiver& receiver, WebhookState state,
                                Outcome outcome) {
    const auto& id = job.due.delivery.webhook;
    if (outcome == Outcome::gone) {
        state.enabled = false;
        state.reason = "gone";
        return context_.change_state(id, state);
    }
    const auto now = log_time(job.due);
    const auto known_since = state.failing_since;
    if (!receiver.failing_since) receiver.failing_since = known_since.value_or(now);
    const bool for_good = now - *receiver.failing_since > options_.failing_max;
    // One failure among others is not worth a record.
    if (!for_good && (known_since || receiver.failing_published || !receiver.breaker.open()))
        return;
    receiver.failing_published = true;
    state.enabled = !for_good;
    state.reason = for_good ? "failing" : "";
    state.failing_since = receiver.failing_since;
    context_.change_state(id, state);
}

void Dispatcher::follow(const Job& job, const Verdict& verdict) {
    const auto& due = job.due;
    switch (verdict.outcome) {
        case Outcome::delivered:
            leave_line(due.delivery);
            return context_.outcomes.finish(due.ticket);
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
        case Outcome::webhook_disabled:
        case Outcome::expired:
        case Outcome::filter_too_costly:
        case Outcome::crashed:
        case Outcome::event_gone: return failed(job, verdict);
    }
}

void Dispatcher::failed(const Job& job, const Verdict& verdict) {
    auto due = job.due;
    ++due.delivery.attempts;
    due.delivery.last = verdict.outcome;
    const auto step = options_.table.next(due.delivery.step, verdict.not_before);
    if (!step) return dead_letter(due, verdict.outcome);
    due.delivery.step = *step;
    const int tier = options_.table.tier_of(*step);
    const auto* entry = context_.webhooks.find(due.delivery.webhook);
    if (entry && entry->webhook.ordered) {
        wait_in_line(receiver(due.delivery.webhook), due, tier);
    }
    promote(due, tier);
}

void Dispatcher::leave_line(const Delivery& delivery) {
    const auto found = receivers_.find(delivery.webhook);
    if (found == receivers_.end()) return;
    found->second.line.erase(delivery.id);
    auto& beyond = found->second.beyond_line;
    if (beyond && beyond->last == delivery.id) beyond.reset();
}

/// The tier in which it waits: `tier`, but beyond the line one that keeps the order too.
int Dispatcher::wait_in_line(Receiver& receiver, const Due& due, int tier) {
    if (auto* place = enter_line(receiver, due.delivery.id, is_new(due))) {
        place->due = context_.home.clock.mono() + options_.table.delay(tier);
        return tier;
    }
    auto& beyond = *receiver.beyond_line;
    beyond.tier = std::max(tier, beyond.tier);
    return beyond.tier;
}

/// Its place, at the end if it has none yet. nullptr: it is beyond the line.
DeliveryLine::Place* Dispatcher::enter_line(Receiver& receiver, const std::string& id,
                                            bool is_new) {
    auto& line = receiver.line;
    auto& beyond = receiver.beyond_line;
    if (auto* found = line.find(id)) return found;
    if (!line.has_capacity() || (beyond && is_new)) {
        if (!beyond) beyond = Receiver::Beyond{};
        beyond->last = id;
        return nullptr;
    }
    if (beyond && beyond->last == id) beyond.reset();
    return &line.push_back(id);
}

void Dispatcher::take(Due due) {
    const auto* entry = context_.webhooks.find(due.delivery.webhook);
    if (put_aside(due, entry)) return;
    const auto id = due.delivery.id;
    const auto partition = due.ticket.partition;
    const bool first = is_new(due);
    Job job{.due = std::move(due),
            .owner = entry->webhook.owner,
            .host = entry->host,
            .cap_max = entry->webhook.ordered ? 1 : entry->webhook.at_a_time,
            .failing = entry->state.failing_since.has_value()};
    if (const auto how_long = context_.queue.add(job)) {
        ++owner(job.owner).usage.requeued;
        return wait(job.due, *how_long, DeliveryEnd::spilled);
    }
    if (!entry->webhook.ordered) return;
    auto& receiver = this->receiver(entry->webhook.id);
    receiver.partition = partition;
    auto* place = enter_line(receiver, id, first);
    if (place) place->due.reset();
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

void Dispatcher::due(Due due) {
    came_back(due);
    take(std::move(due));
}

void Dispatcher::forget(core::Partition partition) {
    std::erase_if(reading_, [&](const auto& one) {
        if (one.second.due.ticket.partition != partition) return false;
        context_.queue.give_back(one.second);
        return true;
    });
    for (auto& [webhook, waiting] : unknown_) {
        std::erase_if(waiting, [&](const Due& due) { return due.ticket.partition == partition; });
    }
    for (auto& [id, receiver] : receivers_) {
        if (receiver.partition != partition) continue;
        forget_requeues(receiver);
        receiver.requeues = Requeues{};
        receiver.line.clear();  // another node ends these
        receiver.beyond_line.reset();
    }
}

std::map<std::string, OwnerUsage, std::less<>> Dispatcher::usage() const {
    std::map<std::string, OwnerUsage, std::less<>> all;
    for (const auto& [name, owner] : owners_) {
        auto& used = all.emplace(name, owner.usage).first->second;
        used.under_way = context_.queue.scheduler().in_flight_of(name);
        used.waiting = context_.queue.scheduler().waiting_of(name);
    }
    return all;
}

}  // namespace beckon::retry
