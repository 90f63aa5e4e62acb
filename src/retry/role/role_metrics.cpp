#include "retry/role/role_metrics.hpp"

#include "ops/metric_names.hpp"

#include <algorithm>

namespace beckon::retry {

namespace metric = ops::metric;

namespace {

/// Those of attempts; others end a delivery without one.
constexpr std::array kOutcomes{Outcome::delivered, Outcome::gone,      Outcome::refused,
                               Outcome::throttled, Outcome::timed_out, Outcome::unreachable,
                               Outcome::forbidden, Outcome::too_large, Outcome::undeliverable,
                               Outcome::expired};

void set(prometheus::Gauge& gauge, std::size_t value) { gauge.Set(static_cast<double>(value)); }
double seconds_of(core::Duration span) { return std::chrono::duration<double>{span}.count(); }

template <class Enum, class Follower>
void follow(core::ByEnum<Enum, Follower>& shown, const core::ByEnum<Enum, std::uint64_t>& now) {
    for (const auto value : core::kValuesOf<Enum>) shown[value].follow(now[value]);
}

}  // namespace

RoleMetrics::RoleMetrics(ops::Metrics& metrics)
    : metrics_(metrics),
      partitions_(metrics.gauge(metric::kRetryPartitions,
                                "Partitions of the delay tiers that this process serves.")),
      webhooks_(metrics.gauge(metric::kRetryWebhooks, "Webhooks of all owners.")),
      disabled_(metrics.gauge(metric::kRetryDisabled,
                              "Webhooks that were disabled since their receiver failed for long or "
                              "said 410.")),
      dead_unlisted_(metrics.gauge(metric::kRetryDeadUnlisted,
                                   "Dead letters of all owners that are too many to be listed.")),
      waiting_(
          metrics.gauge(metric::kRetryWaiting, "Deliveries that are due and wait for an attempt.")),
      under_way_(metrics.gauge(metric::kRetryUnderWay, "Attempts without an answer yet.")),
      bridged_waiting_(
          metrics.gauge(metric::kRetryBridgeWaiting,
                        "Messages of bridged clients that are due and wait for an attempt.")),
      bridged_under_way_(metrics.gauge(metric::kRetryBridgeUnderWay,
                                       "Attempts at bridges without an answer yet.")),
      connections_(metrics.gauge(metric::kRetryConnections, "Open connections of the API.")),
      accept_pauses_(metrics.counter(metric::kRetryAcceptPauses,
                                     "Times that no connection could be accepted for lack of "
                                     "descriptors or memory.")),
      closed_(metrics.counters<net::CloseReason>(
          metric::kRetryClosed, "Connections of the API that ended, by reason.", "reason")) {
    for (std::size_t i = 0; i < replies_.size(); ++i) {
        replies_[i] = &metrics.counter(metric::kRetryReplies, "Replies of the API.",
                                       {{"status", std::to_string(i + 2) + "xx"}});
    }
    for (const auto outcome : kOutcomes) {
        attempts_[outcome].counter =
            &metrics.counter(metric::kRetryAttempts, "Attempts to deliver, by outcome.",
                             {{"outcome", std::string{to_string(outcome)}}});
    }
    const auto followers = [](auto& all, const auto& counters) {
        for (std::size_t i = 0; i < all.values.size(); ++i) {
            all.values[i].counter = counters.values[i];
        }
    };
    followers(deliveries_, metrics.counters<DeliveryEnd>(metric::kRetryDeliveries,
                                                         "Deliveries by outcome.", "outcome"));
    followers(events_,
              metrics.counters<EventEnd>(metric::kRetryEvents, "Events by outcome.", "outcome"));
    followers(bridged_, metrics.counters<BridgedEnd>(
                            metric::kRetryBridgeMessages,
                            "Messages of bridged clients that end or wait without an attempt, by "
                            "outcome, and dead tokens.",
                            "outcome"));
    filter_steps_.counter = &metrics.counter(metric::kRetryFilterSteps,
                                             "Steps that filters took: some 10 to 30 ns each.");
    for (const auto bridge : {core::RouterType::fcm, core::RouterType::apns}) {
        bridges_.emplace(bridge, of_bridge(bridge));
    }
}

RoleMetrics::OfBridge RoleMetrics::of_bridge(core::RouterType bridge) {
    const std::string name{core::to_string(bridge)};
    OfBridge of;
    for (const auto outcome : core::kValuesOf<BridgeOutcome>) {
        of.attempts[outcome] =
            &metrics_.counter(metric::kRetryBridgeAttempts, "Attempts at a bridge, by outcome.",
                              {{"bridge", name}, {"outcome", std::string{to_string(outcome)}}});
    }
    for (const bool good : {true, false}) {
        of.tokens[good ? 1 : 0] = &metrics_.counter(
            metric::kRetryBridgeTokens, "Tokens for a bridge that were made or asked for.",
            {{"bridge", name}, {"result", good ? "renewed" : "failed"}});
    }
    of.seconds = &metrics_.seconds(metric::kRetryBridgeSeconds,
                                   "How long attempts at a bridge took.", {{"bridge", name}});
    of.faulty = &metrics_.gauge(metric::kRetryBridgeFaults,
                                "Apps of a bridge that need a person: their credentials are "
                                "refused, no attempt succeeds, or they are not configured.",
                                {{"bridge", name}});
    return of;
}

void RoleMetrics::Follower::follow(std::uint64_t now) {
    const auto more = now >= seen ? now - seen : now;
    seen = now;
    if (more > 0 && counter) counter->Increment(unit * static_cast<double>(more));
}

RoleMetrics::OfOwner& RoleMetrics::of_owner(const std::string& owner) {
    const auto found = owners_.find(owner);
    if (found != owners_.end()) return found->second;
    OfOwner one;
    one.milliseconds = {
        &metrics_.counter(metric::kRetryOwnerSeconds,
                          "Seconds that attempts took, by owner (50 owners by name, then one sum).",
                          {{"owner", owner}}),
        0.001};
    one.bytes = {&metrics_.counter(
        metric::kRetryOwnerBytes,
        "Bytes of events sent, by owner (50 owners by name, then one sum).", {{"owner", owner}})};
    one.requeued = {&metrics_.counter(
        metric::kRetryOwnerRequeued,
        "Deliveries requeued because the owner's share was full, by owner (50 owners by name, "
        "then one sum).",
        {{"owner", owner}})};
    return owners_.emplace(owner, one).first->second;
}

/// The names of owners are not ours: there are as many labels as an operator can read.
void RoleMetrics::measure_owners(const std::map<std::string, OwnerUsage, std::less<>>& usage) {
    const auto show = [this](const std::string& owner, const OwnerUsage& used) {
        auto& shown = of_owner(owner);
        shown.milliseconds.follow(static_cast<std::uint64_t>(
            std::chrono::floor<std::chrono::milliseconds>(used.time).count()));
        shown.bytes.follow(used.bytes);
        shown.requeued.follow(used.requeued);
    };
    OwnerUsage others;
    for (const auto& [owner, used] : usage) {
        const bool by_name = owners_.size() < kOwnersShown || owners_.contains(owner);
        by_name ? show(owner, used) : void(others += used);
    }
    if (others.attempts > 0 || others.requeued > 0) show("(others)", others);
}

RoleMetrics::OfTier RoleMetrics::of_tier(int tier) {
    const auto number = std::to_string(tier);
    return {.waiting = &metrics_.gauge(metric::kRetryTierWaiting,
                                       "Deliveries that wait in a delay tier, of the partitions "
                                       "that this process serves.",
                                       {{"tier", number}}),
            .oldest = &metrics_.gauge(metric::kRetryTierOldest,
                                      "How long the oldest delivery has waited in a delay tier.",
                                      {{"tier", number}}),
            .overdue = &metrics_.gauge(metric::kRetryTierOverdue,
                                       "How long ago the first delivery of a delay tier became due "
                                       "that is not finished; 0: none is due.",
                                       {{"tier", number}})};
}

/// The metrics of a tier that this process does not serve any more go to 0.
void RoleMetrics::measure_tiers(const std::map<int, TierWatch::Waiting>& tiers) {
    for (const auto& [tier, held] : tiers) {
        if (!tiers_.contains(tier)) tiers_.emplace(tier, of_tier(tier));
    }
    for (const auto& [tier, shown] : tiers_) {
        const auto found = tiers.find(tier);
        const auto held = found == tiers.end() ? TierWatch::Waiting{} : found->second;
        shown.waiting->Set(static_cast<double>(held.records));
        shown.oldest->Set(seconds_of(held.oldest));
        shown.overdue->Set(seconds_of(held.overdue));
    }
}

void RoleMetrics::measure(const RetryNode& node, const DeliveryShard::Counts& counts) {
    set(partitions_, node.partitions_served());
    set(webhooks_, node.webhooks().size());
    set(disabled_, node.webhooks().disabled());
    set(dead_unlisted_, node.dead_letters().passed_over());
    set(waiting_, counts.waiting);
    set(under_way_, counts.under_way);
    set(bridged_waiting_, counts.bridged_waiting);
    set(bridged_under_way_, counts.bridged_under_way);
    follow(attempts_, counts.tally.attempts);
    follow(deliveries_, counts.tally.deliveries);
    follow(events_, counts.tally.events);
    follow(bridged_, counts.tally.bridged);
    filter_steps_.follow(counts.tally.filter_steps);
    measure_tiers(node.tiers());
    measure_owners(counts.usage);
    std::map<core::RouterType, int> faulty;
    for (const auto& [app, why] : counts.bridge_faults) ++faulty[app.first];
    for (const auto& [bridge, of] : bridges_) of.faulty->Set(faulty[bridge]);
}

void RoleMetrics::turned(const std::string& thread, core::Duration longest) {
    auto& shown = turns_[thread];
    if (!shown) {
        shown = &metrics_.gauge(metric::kRetryLongestTurn,
                                "The most processor time in the last second that a thread of "
                                "the role spent on one task, while its other tasks waited.",
                                {{"thread", thread}});
    }
    shown->Set(seconds_of(longest));
}

void RoleMetrics::replied(int status) {
    replies_[static_cast<std::size_t>(std::clamp(status / 100, 2, 5) - 2)]->Increment();
}

void RoleMetrics::closed(net::CloseReason reason) {
    connections_.Decrement();
    closed_[reason]->Increment();
}

void RoleMetrics::attempted(core::RouterType bridge, BridgeOutcome outcome, core::Duration took) {
    auto& of = bridges_.at(bridge);
    of.attempts[outcome]->Increment();
    of.seconds->Observe(seconds_of(took));
}

void RoleMetrics::token_renewed(core::RouterType bridge, bool good) {
    bridges_.at(bridge).tokens[good ? 1 : 0]->Increment();
}

}  // namespace beckon::retry
