#include "retry/home/bridges.hpp"

#include "core/assert.hpp"
#include "core/log_names.hpp"
#include "core/logger.hpp"
#include "log/until.hpp"
#include "records/client_gone.hpp"
#include "records/expiry.hpp"
#include "retry/home/queue/requeues.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace beckon::retry {

using core::Duration;
using core::Milestone;
using std::chrono::ceil;
using std::chrono::seconds;

namespace {

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

/// An app as an owner of the queue; no owner of webhooks can have such a name.
std::string owner_of(const BridgeAppName& name) {
    return "/" + std::string{core::to_string(name.first)} + "/" + name.second;
}

BridgeAppName name_of(const bridge::BridgedMessage& message) {
    return {message.to.type, message.to.app};
}

core::Result<bridge::BridgedMessage> message_of(const Due& due) {
    return bridge::parse_bridged(due.delivery.id, due.delivery.webhook, due.delivery.event);
}

}  // namespace

Bridges::Bridges(DeliveryOptions options, Context context, BridgeApps&& apps)
    : options_(std::move(options)), context_(context) {
    for (auto& [name, app] : apps) apps_[name].app = std::move(app);
}

core::Timestamp Bridges::BridgedJob::expires() const {
    return core::expiry_of(due().delivery.accepted, message.ttl_s);
}

/// The log's time now, at least.
core::Timestamp Bridges::now(const BridgedJob& job) const {
    return log_now(job.due(), context_.home.clock.mono());
}

/// nullptr: it is not configured.
Bridges::App* Bridges::app_of(const bridge::BridgedMessage& message) {
    const auto found = apps_.find(name_of(message));
    return found == apps_.end() ? nullptr : &found->second;
}

// --- due messages

void Bridges::due(Due due) {
    auto message = message_of(due);
    if (!message) {
        count(BridgedEnd::broken);
        core::log_sparsely(core::LogLevel::error, "retry", "broken_bridged_message",
                           {{"delivery", due.delivery.id}, {"why", message.error().message}});
        due.delivery.last = Outcome::undeliverable;
        return context_.outcomes.dead_letter(due.ticket, std::move(due.delivery));
    }
    const auto name = name_of(*message);
    BridgedJob one{.job = {.due = std::move(due),
                           .owner = owner_of(name),
                           .host = owner_of(name),
                           .cap_max = 1,
                           .bridged = true},
                   .message = std::move(*message)};
    if (put_aside(one)) return;
    if (context_.queue.add(one.job)) wait(one, kWaitForPlace, BridgedEnd::spilled);
}

/// True if the message is not to be attempted now, and its outcome is written.
bool Bridges::put_aside(const BridgedJob& job) {
    const auto last = std::max(job.expires(), job.due().delivery.accepted + kGrace);
    if (now(job) >= last) {
        expire(job);
        return true;
    }
    if (now(job) + missing_time(job) >= last) {
        wait(job, kWait, BridgedEnd::may_have_expired);
        return true;
    }
    if (context_.queue.has_ended_processes(job.due())) {
        dead_letter(job, Outcome::crashed, "two processes ended while they attempted it");
        return true;
    }
    const auto* app = app_of(job.message);
    if (!app) {
        not_configured(job);
        return true;
    }
    const auto closed = app->breaker.closed_in(context_.home.clock.mono());
    if (closed <= Duration::zero()) return false;
    wait(job, closed, BridgedEnd::parked);
    return true;
}

/// By how much the message may be older than the log says.
Duration Bridges::missing_time(const BridgedJob& job) const {
    return context_.home.log.missing_time().of(job.due().delivery.accepted);
}

/// Perhaps it is configured at the next start, or on another node.
void Bridges::not_configured(const BridgedJob& job) {
    const auto name = name_of(job.message);
    auto& why = unknown_apps_[name];
    if (std::exchange(why, "not configured").empty()) {
        core::log_error("retry", "bridge_not_configured",
                        {{"bridge", core::to_string(name.first)},
                         {"app", name.second},
                         {"effect", "its messages wait until they expire"}});
    }
    wait(job, kWait, BridgedEnd::unconfigured);
}

/// Back into a tier, without an attempt; a message that would not live so long expires there.
void Bridges::wait(const BridgedJob& job, Duration how_long, BridgedEnd why) {
    const auto tier = Requeues{}.tier_for(options_.table, how_long, context_.home.clock.mono());
    if (!tier) return expire(job);
    count(why);
    context_.outcomes.promote(job.due().ticket, job.due().delivery, *tier);
}

// --- attempts

void Bridges::begin(Job next) {
    const auto message = message_of(next.due);
    BECKON_ASSERT(message.has_value(), "due() has read it");
    const auto job =
        std::make_shared<const BridgedJob>(BridgedJob{.job = std::move(next), .message = *message});
    if (put_aside(*job) || context_.queue.too_late(kBridgeTimeout)) {
        return context_.queue.give_back(job->job);  // too late: the record waits for the next run
    }
    auto& app = *app_of(job->message);
    app.breaker.start();
    const auto left = ceil<seconds>(job->expires() - now(*job) - missing_time(*job));
    using Answer = std::pair<BridgeVerdict, Duration>;
    context_.queue.begin<Answer>(
        {job, &job->job},
        [&](const auto& done) {
            app.app->send({.message = job->message, .left = left, .expires = job->expires()},
                          [done](BridgeVerdict verdict, Duration took) {
                              done({std::move(verdict), took});
                          });
        },
        [this, &app, job](const Answer& answer, bool ours) {
            ended(app, *job, answer.first, answer.second, ours);
        },
        {{.outcome = BridgeOutcome::failed, .why = "making its request threw"}, Duration::zero()});
}

void Bridges::ended(App& app, const BridgedJob& job, const BridgeVerdict& verdict, Duration took,
                    bool ours) {
    context_.queue.ended({.attempt = job.job.attempt, .took = took});
    context_.observer->attempted(job.message.to.type, verdict.outcome, took);
    core::log_debug("retry", "bridge_attempt",
                    {{"bridge", core::to_string(job.message.to.type)},
                     {"delivery", job.due().delivery.id},
                     {"number", job.due().delivery.attempts},
                     {"outcome", to_string(verdict.outcome)},
                     {"why", verdict.why}});
    judge_app(app, job, verdict);
    if (ours) follow(job, verdict);
}

void Bridges::judge_app(App& app, const BridgedJob& job, const BridgeVerdict& verdict) {
    const auto outcome = verdict.outcome;
    const auto name = name_of(job.message);
    if (outcome == BridgeOutcome::accepted) context_.proven.add(name);
    // Until a message was accepted, the token or our credentials may be wrong.
    const bool doubtful = outcome == BridgeOutcome::foreign && !context_.proven.has(name);
    if (is_healthy(outcome) && !doubtful) {
        app.breaker.succeeded();
        app.refusals = 0;
        app.kind = {};
        if (!std::exchange(app.fault, {}).empty()) {
            core::log_info(
                "retry", "bridge_works",
                {{"bridge", core::to_string(job.message.to.type)}, {"app", job.message.to.app}});
        }
        return;
    }
    is_faulty(outcome) ? app.breaker.failed(context_.home.clock.mono()) : app.breaker.undecided();
    if (outcome == BridgeOutcome::unauthorized || doubtful) {
        if (++app.refusals < kRefusalsOfFault) return;
        return set_fault(app, job, "bridge_refuses_credentials", verdict.why);
    }
    if (app.breaker.open() && app.refusals < kRefusalsOfFault) {
        set_fault(app, job, "bridge_breaker_open", "no attempt succeeds: " + verdict.why);
    }
}

/// One line for each kind of fault; the warning in /ready has the newest reason.
void Bridges::set_fault(App& app, const BridgedJob& job, std::string_view kind, std::string why) {
    if (std::exchange(app.kind, kind) != kind) {
        core::log_error("retry", kind,
                        {{"bridge", core::to_string(job.message.to.type)},
                         {"app", job.message.to.app},
                         {"why", why}});
    }
    app.fault = std::move(why);
}

// --- outcomes

void Bridges::follow(const BridgedJob& job, const BridgeVerdict& verdict) {
    switch (verdict.outcome) {
        case BridgeOutcome::accepted:
            return reached_then(
                job, Milestone::bridge_transmitted,
                [this, ticket = job.due().ticket] { context_.outcomes.finish(ticket); });
        case BridgeOutcome::gone: return report_gone(job, verdict.why);
        case BridgeOutcome::foreign:
            // With credentials of a wrong project every token is foreign: no client ends for that.
            if (context_.proven.has(name_of(job.message))) return report_gone(job, verdict.why);
            return dead_letter(job, Outcome::refused, verdict.why);
        case BridgeOutcome::refused: return dead_letter(job, Outcome::refused, verdict.why);
        case BridgeOutcome::throttled:
        case BridgeOutcome::unauthorized:
        case BridgeOutcome::failed:
        case BridgeOutcome::timed_out:
        case BridgeOutcome::unreachable: return failed(job, verdict);
    }
}

void Bridges::dead_letter(const BridgedJob& job, Outcome as, const std::string& why) {
    auto dead = job.due().delivery;
    ++dead.attempts;
    dead.last = as;
    if (as == Outcome::refused) {
        core::log_warn("retry", "bridge_refuses_message",
                       {{"bridge", core::to_string(job.message.to.type)},
                        {"delivery", dead.id},
                        {"why", why}});
    }
    reached_then(job, Milestone::errored, [this, ticket = job.due().ticket, dead] {
        context_.outcomes.dead_letter(ticket, dead);
    });
}

void Bridges::failed(const BridgedJob& job, const BridgeVerdict& verdict) {
    const auto step = next_step(job, verdict.not_before);
    if (!step) return expire(job);
    auto delivery = job.due().delivery;
    ++delivery.attempts;
    delivery.last = outcome_of(verdict.outcome);
    delivery.step = *step;
    context_.outcomes.promote(job.due().ticket, std::move(delivery), options_.table.tier_of(*step));
}

/// The step after this one, or the last again, that is not sooner than asked for; where the TTL
/// ends before that, the longest one that still fits into it. nullopt: there is none.
std::optional<int> Bridges::next_step(const BridgedJob& job, seconds not_before) const {
    const auto& table = options_.table;
    const auto left = job.expires() - now(job);
    const int last = table.steps() - 1;
    const int wanted = table.next(job.due().delivery.step, not_before).value_or(last);
    for (int step = wanted; step >= 1; --step) {
        if (table.delay(step) < not_before && step != last) break;
        if (table.delay(step) < left) return step;
    }
    return std::nullopt;
}

void Bridges::expire(const BridgedJob& job) {
    count(BridgedEnd::expired);
    core::log_debug("retry", "bridged_message_expired", {{"delivery", job.due().delivery.id}});
    reached_then(job, Milestone::expired,
                 [this, ticket = job.due().ticket] { context_.outcomes.finish(ticket); });
}

void Bridges::report_gone(const BridgedJob& job, const std::string& why) {
    count(BridgedEnd::gone);
    core::log_info("retry", "bridged_client_gone",
                   {{"bridge", core::to_string(job.message.to.type)},
                    {"client", core::log_name(job.message.uaid)},
                    {"why", why}});
    // Until the log has it; only then the delivery is finished.
    const auto& uaid = job.message.uaid;
    const core::ClientGone gone{.uaid = uaid,
                                .token_hash = core::hash_of_token(job.message.to.token)};
    log::until_written(
        {lifetime_, context_.home.executor}, context_.home.publisher,
        {log::Topic::kSubscriptions, core::partition_of(uaid, options_.partitions)},
        [gone] { return core::encode(gone); },
        [this, job](const auto&) {
            reached_then(job, Milestone::errored,
                         [this, ticket = job.due().ticket] { context_.outcomes.finish(ticket); });
        },
        [](const core::Error& error) {
            core::log_warn("retry", "gone_not_written", {{"why", error.message}});
        });
}

/// Goes on when the log has the milestone of a tracked message, on the executor's thread.
void Bridges::reached_then(const BridgedJob& job, Milestone milestone, std::function<void()> then) {
    if (!job.message.reliability_id || !context_.milestones) return then();
    context_.queue.hold();  // the outcome waits for the milestone
    context_.milestones->reached_then(*job.message.reliability_id, job.expires(), milestone,
                                      [this, remote = lifetime_.remote(), then = std::move(then)] {
                                          remote.post([this, then] {
                                              then();
                                              context_.queue.release();
                                          });
                                      });
}

// --- for people

std::size_t Bridges::sum_of(std::size_t (Scheduler::*of_owner)(std::string_view) const) const {
    const auto& scheduler = context_.queue.scheduler();
    return std::transform_reduce(
        apps_.begin(), apps_.end(), std::size_t{0}, std::plus{},
        [&](const auto& one) { return (scheduler.*of_owner)(owner_of(one.first)); });
}

std::map<BridgeAppName, std::string> Bridges::faults() const {
    auto all = unknown_apps_;
    for (const auto& [name, app] : apps_) {
        if (!app.fault.empty()) all[name] = app.fault;
    }
    return all;
}

}  // namespace beckon::retry
