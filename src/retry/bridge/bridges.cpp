#include "retry/bridge/bridges.hpp"

#include "core/lifetime.hpp"
#include "core/log_names.hpp"
#include "core/logger.hpp"
#include "log/until.hpp"
#include "records/client_gone.hpp"
#include "records/expiry.hpp"
#include "retry/schedule/breaker.hpp"
#include "retry/schedule/requeues.hpp"

#include <algorithm>
#include <deque>
#include <iterator>

namespace beckon::retry {

using core::Duration;
using core::Milestone;
using std::chrono::ceil;
using std::chrono::seconds;

namespace {

struct BridgedJob {
    Due due;
    bridge::BridgedMessage message;

    core::Timestamp expires() const {
        return core::expiry_of(due.delivery.accepted, message.ttl_s);
    }
    /// The log's time now, at least.
    core::Timestamp now(const core::Clock& clock) const { return log_now(due, clock.mono()); }
    const std::string& client() const { return due.delivery.webhook; }
};

/// Deliveries that wait for one app.
struct Queue {
    std::unique_ptr<BridgeApp> app;
    Breaker breaker;
    int refusals = 0;       ///< of our credentials, in a row
    std::string fault;      ///< why it needs a person; empty: it does not
    std::string_view kind;  ///< of the fault: the line that was logged for it
    bool proven = false;  ///< it has accepted a message since the start: our credentials are right

    struct Client {
        std::deque<BridgedJob> waiting;
        bool busy = false;
    };
    std::map<std::string, Client> clients;
    std::deque<std::string> turns;  ///< of clients that wait and are not busy
    std::size_t waiting = 0;
    std::size_t under_way = 0;
};

/// The word that stands in the record.
Outcome outcome_of(BridgeOutcome outcome) {
    switch (outcome) {
        case BridgeOutcome::accepted: return Outcome::delivered;
        case BridgeOutcome::gone: return Outcome::gone;
        case BridgeOutcome::foreign:
        case BridgeOutcome::refused:
        case BridgeOutcome::unauthorized:
        case BridgeOutcome::failed: return Outcome::refused;
        case BridgeOutcome::throttled: return Outcome::throttled;
        case BridgeOutcome::timed_out: return Outcome::timed_out;
        case BridgeOutcome::unreachable: return Outcome::unreachable;
    }
    return Outcome::refused;
}

}  // namespace

struct Bridges::Impl {
    Impl(Options o, Context p)
        : options(std::move(o)),
          context(p),
          publisher(context.log.open_publisher(context.executor)),
          engine({.executor = context.executor,
                  .clock = context.clock,
                  .stop_at = options.stop_at,
                  .journal = context.journal},
                 [this] {
                     for (auto& [name, queue] : queues) pump(queue);
                 }) {}

    const Options options;
    const Context context;
    const std::unique_ptr<log::Publisher> publisher;
    DeliveryOutcomes* outcomes = nullptr;
    std::map<BridgeAppName, Queue> queues;
    std::map<BridgeAppName, std::string> unknown_apps;  ///< named once each
    Counts counts;
    AttemptEngine engine;
    core::Lifetime lifetime{context.executor};

    bool put_aside(const BridgedJob& job, Queue* queue);
    void not_configured(const BridgedJob& job);
    void wait(const BridgedJob& job, Duration how_long, std::uint64_t& count);
    void enqueue(Queue& queue, BridgedJob job);

    void pump(Queue& queue);
    std::optional<BridgedJob> next(Queue& queue);
    Duration missing_time(const BridgedJob& job) const;
    void start(Queue& queue, BridgedJob started);
    void ended(Queue& queue, const BridgedJob& job, const BridgeVerdict& verdict, Duration took,
               bool ours);
    void free_client(Queue& queue, const std::string& client);
    void judge_app(Queue& queue, const BridgedJob& job, const BridgeVerdict& verdict);
    static void set_fault(Queue& queue, const BridgedJob& job, std::string_view kind,
                          std::string why);

    void follow(Queue& queue, const BridgedJob& job, const BridgeVerdict& verdict);
    void dead_letter(const BridgedJob& job, Outcome as, const std::string& why);
    void failed(const BridgedJob& job, const BridgeVerdict& verdict);
    std::optional<int> next_step(const BridgedJob& job, seconds not_before) const;
    void expire(const BridgedJob& job);
    void report_gone(const BridgedJob& job, const std::string& why);
    void publish_gone(const BridgedJob& job);
    void reached_then(const BridgedJob& job, Milestone milestone, std::function<void()> then);
};

// --- due messages

/// True if the message is not to be attempted now, and its outcome is written.
bool Bridges::Impl::put_aside(const BridgedJob& job, Queue* queue) {
    const auto last = std::max(job.expires(), job.due.delivery.accepted + kGrace);
    if (job.now(context.clock) >= last) {
        expire(job);
        return true;
    }
    if (job.now(context.clock) + missing_time(job) >= last) {
        wait(job, kWait, counts.may_have_expired);
        return true;
    }
    if (engine.has_ended_processes(job.due)) {
        dead_letter(job, Outcome::crashed, "two processes ended while they attempted it");
        return true;
    }
    if (!queue) {
        not_configured(job);
        return true;
    }
    const auto closed = queue->breaker.closed_in(context.clock.mono());
    if (closed <= Duration::zero()) return false;
    wait(job, closed, counts.parked);
    return true;
}

/// By how much the message may be older than the log says.
Duration Bridges::Impl::missing_time(const BridgedJob& job) const {
    return context.log.missing_time().of(job.due.delivery.accepted);
}

/// Perhaps it is configured at the next start, or on another node.
void Bridges::Impl::not_configured(const BridgedJob& job) {
    const BridgeAppName name{job.message.to.type, job.message.to.app};
    auto& why = unknown_apps[name];
    if (std::exchange(why, "not configured").empty()) {
        core::log_error("retry", "bridge_not_configured",
                        {{"bridge", core::to_string(name.first)},
                         {"app", name.second},
                         {"effect", "its messages wait until they expire"}});
    }
    wait(job, kWait, counts.unconfigured);
}

/// Back into a tier, without an attempt; a message that would not live so long expires there.
void Bridges::Impl::wait(const BridgedJob& job, Duration how_long, std::uint64_t& count) {
    const auto tier = Requeues{}.tier_for(options.table, how_long, context.clock.mono());
    if (!tier) return expire(job);
    ++count;
    outcomes->promote(job.due.ticket, job.due.delivery, *tier);
}

void Bridges::Impl::enqueue(Queue& queue, BridgedJob job) {
    if (queue.waiting >= options.waiting_max) return wait(job, kWaitForPlace, counts.spilled);
    auto& client = queue.clients[job.client()];
    if (client.waiting.empty() && !client.busy) queue.turns.push_back(job.client());
    client.waiting.push_back(std::move(job));
    ++queue.waiting;
    engine.pump_soon();
}

// --- attempts

std::optional<BridgedJob> Bridges::Impl::next(Queue& queue) {
    if (queue.turns.empty()) return std::nullopt;
    auto& client = queue.clients.at(queue.turns.front());
    queue.turns.pop_front();
    auto job = std::move(client.waiting.front());
    client.waiting.pop_front();
    client.busy = true;
    --queue.waiting;
    return job;
}

void Bridges::Impl::pump(Queue& queue) {
    while (!engine.draining() && queue.under_way < options.at_a_time) {
        auto job = next(queue);
        if (!job) return;
        if (put_aside(*job, &queue) || engine.too_late(kBridgeTimeout)) {
            free_client(queue, job->client());  // too late: the record waits for the next run
        } else {
            start(queue, std::move(*job));
        }
    }
}

void Bridges::Impl::start(Queue& queue, BridgedJob started) {
    queue.breaker.start();
    ++queue.under_way;
    const auto job = std::make_shared<const BridgedJob>(std::move(started));
    const auto left = ceil<seconds>(job->expires() - job->now(context.clock) - missing_time(*job));
    using Answer = std::pair<BridgeVerdict, Duration>;
    engine.begin<Answer>(
        {job, &job->due},
        [&](const auto& done) {
            queue.app->send({.message = job->message, .left = left, .expires = job->expires()},
                            [done](BridgeVerdict verdict, Duration took) {
                                done({std::move(verdict), took});
                            });
        },
        [this, &queue, job](const Answer& answer, bool ours) {
            ended(queue, *job, answer.first, answer.second, ours);
        },
        {{.outcome = BridgeOutcome::failed, .why = "making its request threw"}, Duration::zero()});
}

void Bridges::Impl::free_client(Queue& queue, const std::string& name) {
    const auto found = queue.clients.find(name);
    found->second.busy = false;
    if (found->second.waiting.empty()) {
        queue.clients.erase(found);
    } else {
        queue.turns.push_back(name);
    }
}

void Bridges::Impl::ended(Queue& queue, const BridgedJob& job, const BridgeVerdict& verdict,
                          Duration took, bool ours) {
    --queue.under_way;
    context.observer.attempted(job.message.to.type, verdict.outcome, took);
    core::log_debug("retry", "bridge_attempt",
                    {{"bridge", core::to_string(job.message.to.type)},
                     {"delivery", job.due.delivery.id},
                     {"number", job.due.delivery.attempts},
                     {"outcome", to_string(verdict.outcome)},
                     {"why", verdict.why}});
    judge_app(queue, job, verdict);
    if (ours) follow(queue, job, verdict);
    free_client(queue, job.client());
}

void Bridges::Impl::judge_app(Queue& queue, const BridgedJob& job, const BridgeVerdict& verdict) {
    const auto outcome = verdict.outcome;
    queue.proven |= outcome == BridgeOutcome::accepted;
    // Until a message was accepted, the token or our credentials may be wrong.
    const bool doubtful = outcome == BridgeOutcome::foreign && !queue.proven;
    if (is_healthy(outcome) && !doubtful) {
        queue.breaker.succeeded();
        queue.refusals = 0;
        queue.kind = {};
        if (!std::exchange(queue.fault, {}).empty()) {
            core::log_info(
                "retry", "bridge_works",
                {{"bridge", core::to_string(job.message.to.type)}, {"app", job.message.to.app}});
        }
        return;
    }
    if (is_faulty(outcome)) queue.breaker.failed(context.clock.mono());
    if (outcome == BridgeOutcome::unauthorized || doubtful) {
        if (++queue.refusals < kRefusalsOfFault) return;
        return set_fault(queue, job, "bridge_refuses_credentials", verdict.why);
    }
    if (queue.breaker.open() && queue.refusals < kRefusalsOfFault) {
        set_fault(queue, job, "bridge_breaker_open", "no attempt succeeds: " + verdict.why);
    }
}

/// One line for each kind of fault; the warning in /ready has the newest reason.
void Bridges::Impl::set_fault(Queue& queue, const BridgedJob& job, std::string_view kind,
                              std::string why) {
    if (std::exchange(queue.kind, kind) != kind) {
        core::log_error("retry", kind,
                        {{"bridge", core::to_string(job.message.to.type)},
                         {"app", job.message.to.app},
                         {"why", why}});
    }
    queue.fault = std::move(why);
}

// --- outcomes

void Bridges::Impl::follow(Queue& queue, const BridgedJob& job, const BridgeVerdict& verdict) {
    switch (verdict.outcome) {
        case BridgeOutcome::accepted:
            return reached_then(job, Milestone::bridge_transmitted,
                                [this, ticket = job.due.ticket] { outcomes->finish(ticket); });
        case BridgeOutcome::gone: return report_gone(job, verdict.why);
        case BridgeOutcome::foreign:
            // With credentials of a wrong project every token is foreign: no client ends for that.
            if (queue.proven) return report_gone(job, verdict.why);
            return dead_letter(job, Outcome::refused, verdict.why);
        case BridgeOutcome::refused: return dead_letter(job, Outcome::refused, verdict.why);
        case BridgeOutcome::throttled:
        case BridgeOutcome::unauthorized:
        case BridgeOutcome::failed:
        case BridgeOutcome::timed_out:
        case BridgeOutcome::unreachable: return failed(job, verdict);
    }
}

void Bridges::Impl::dead_letter(const BridgedJob& job, Outcome as, const std::string& why) {
    auto dead = job.due.delivery;
    ++dead.attempts;
    dead.last = as;
    if (as == Outcome::refused) {
        core::log_warn("retry", "bridge_refuses_message",
                       {{"bridge", core::to_string(job.message.to.type)},
                        {"delivery", dead.id},
                        {"why", why}});
    }
    reached_then(job, Milestone::errored,
                 [this, ticket = job.due.ticket, dead] { outcomes->dead_letter(ticket, dead); });
}

void Bridges::Impl::failed(const BridgedJob& job, const BridgeVerdict& verdict) {
    const auto step = next_step(job, verdict.not_before);
    if (!step) return expire(job);
    auto delivery = job.due.delivery;
    ++delivery.attempts;
    delivery.last = outcome_of(verdict.outcome);
    delivery.step = *step;
    outcomes->promote(job.due.ticket, std::move(delivery), options.table.tier_of(*step));
}

/// The step after this one, or the last again, that is not sooner than asked for; where the TTL
/// ends before that, the longest one that still fits into it. nullopt: there is none.
std::optional<int> Bridges::Impl::next_step(const BridgedJob& job, seconds not_before) const {
    const auto& table = options.table;
    const auto left = job.expires() - job.now(context.clock);
    const int last = table.steps() - 1;
    const int wanted = table.next(job.due.delivery.step, not_before).value_or(last);
    for (int step = wanted; step >= 1; --step) {
        if (table.delay(step) < not_before && step != last) break;
        if (table.delay(step) < left) return step;
    }
    return std::nullopt;
}

void Bridges::Impl::expire(const BridgedJob& job) {
    ++counts.expired;
    core::log_debug("retry", "bridged_message_expired", {{"delivery", job.due.delivery.id}});
    reached_then(job, Milestone::expired,
                 [this, ticket = job.due.ticket] { outcomes->finish(ticket); });
}

void Bridges::Impl::report_gone(const BridgedJob& job, const std::string& why) {
    ++counts.gone;
    core::log_info("retry", "bridged_client_gone",
                   {{"bridge", core::to_string(job.message.to.type)},
                    {"client", core::log_name(job.message.uaid)},
                    {"why", why}});
    publish_gone(job);
}

/// Until the log has it; only then the delivery is finished.
void Bridges::Impl::publish_gone(const BridgedJob& job) {
    const auto& uaid = job.message.uaid;
    const core::ClientGone gone{.uaid = uaid,
                                .token_hash = core::hash_of_token(job.message.to.token)};
    log::until_written(
        {lifetime, context.executor}, *publisher,
        {log::Topic::kSubscriptions, core::partition_of(uaid, options.partitions)},
        [gone] { return core::encode(gone); },
        [this, job](const auto&) {
            reached_then(job, Milestone::errored,
                         [this, ticket = job.due.ticket] { outcomes->finish(ticket); });
        },
        [](const core::Error& why) {
            core::log_warn("retry", "gone_not_written", {{"why", why.message}});
        });
}

/// Goes on when the log has the milestone of a tracked message, on the executor's thread.
void Bridges::Impl::reached_then(const BridgedJob& job, Milestone milestone,
                                 std::function<void()> then) {
    if (!job.message.reliability_id || !context.milestones) return then();
    engine.hold();  // the outcome waits for the milestone
    context.milestones->reached_then(*job.message.reliability_id, job.expires(), milestone,
                                     [this, remote = lifetime.remote(), then = std::move(then)] {
                                         remote.post([this, then] {
                                             then();
                                             engine.release();
                                         });
                                     });
}

// --- Bridges

Bridges::Bridges(Options options, Context context, BridgeApps&& apps)
    : impl_(std::make_unique<Impl>(std::move(options), context)) {
    for (auto& [name, app] : apps) impl_->queues[name].app = std::move(app);
}

Bridges::~Bridges() = default;

void Bridges::serve(DeliveryOutcomes& outcomes) { impl_->outcomes = &outcomes; }

void Bridges::due(Due due) {
    auto message = bridge::parse_bridged(due.delivery.id, due.delivery.webhook, due.delivery.event);
    if (!message) {
        ++impl_->counts.broken;
        core::log_sparsely(core::LogLevel::error, "retry", "broken_bridged_message",
                           {{"delivery", due.delivery.id}, {"why", message.error().message}});
        due.delivery.last = Outcome::undeliverable;
        return impl_->outcomes->dead_letter(due.ticket, std::move(due.delivery));
    }
    const auto found = impl_->queues.find({message->to.type, message->to.app});
    Queue* queue = found == impl_->queues.end() ? nullptr : &found->second;
    BridgedJob job{.due = std::move(due), .message = std::move(*message)};
    if (!impl_->put_aside(job, queue)) impl_->enqueue(*queue, std::move(job));
}

void Bridges::forget(core::Partition partition) {
    impl_->engine.forget(partition);
    for (auto& [name, queue] : impl_->queues) {
        for (auto it = queue.clients.begin(); it != queue.clients.end();) {
            auto& [client, state] = *it;
            queue.waiting -= std::erase_if(state.waiting, [partition](const BridgedJob& job) {
                return job.due.ticket.partition == partition;
            });
            const bool idle = state.waiting.empty() && !state.busy;
            it = idle ? queue.clients.erase(it) : std::next(it);
        }
        std::erase_if(queue.turns, [&queue = queue](const auto& client) {
            return !queue.clients.contains(client);
        });
    }
}

void Bridges::drain(std::function<void()> done) { impl_->engine.drain(std::move(done)); }

const Bridges::Counts& Bridges::counts() const { return impl_->counts; }
std::size_t Bridges::under_way() const { return impl_->engine.under_way(); }

std::size_t Bridges::waiting() const {
    std::size_t sum = 0;
    for (const auto& [name, queue] : impl_->queues) sum += queue.waiting;
    return sum;
}

std::map<BridgeAppName, std::string> Bridges::faults() const {
    auto all = impl_->unknown_apps;
    for (const auto& [name, queue] : impl_->queues) {
        if (!queue.fault.empty()) all[name] = queue.fault;
    }
    return all;
}

}  // namespace beckon::retry
