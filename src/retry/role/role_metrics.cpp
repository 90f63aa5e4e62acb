#include "retry/role/role_metrics.hpp"

#include "ops/metric_names.hpp"

#include <algorithm>

namespace beckon::retry {

namespace metric = ops::metric;

namespace {

constexpr std::array kOutcomes{Outcome::delivered, Outcome::gone,      Outcome::refused,
                               Outcome::throttled, Outcome::timed_out, Outcome::unreachable,
                               Outcome::forbidden, Outcome::too_large, Outcome::undeliverable,
                               Outcome::expired};

}  // namespace

RoleMetrics::RoleMetrics(ops::Metrics& metrics)
    : partitions_(metrics.gauge(metric::kRetryPartitions,
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
      connections_(metrics.gauge(metric::kRetryConnections, "Open connections of the API.")),
      accept_pauses_(metrics.counter(metric::kRetryAcceptPauses,
                                     "Times that no connection could be accepted for lack of "
                                     "descriptors or memory.")),
      metrics_(metrics) {
    for (std::size_t i = 0; i < replies_.size(); ++i) {
        replies_[i] = &metrics.counter(metric::kRetryReplies, "Replies of the API.",
                                       {{"status", std::to_string(i + 2) + "xx"}});
    }
    closed_ = metrics.counters<net::CloseReason>(
        metric::kRetryClosed, "Connections of the API that ended, by reason.", "reason");
    for (const auto outcome : kOutcomes) {
        attempts_[outcome].counter =
            &metrics.counter(metric::kRetryAttempts, "Attempts to deliver, by outcome.",
                             {{"outcome", std::string{to_string(outcome)}}});
    }
    for (const auto end : core::kValuesOf<DeliveryEnd>) {
        deliveries_[end].counter =
            &metrics.counter(metric::kRetryDeliveries, "Deliveries by outcome.",
                             {{"outcome", std::string{core::name_of(end)}}});
    }
    for (const auto end : core::kValuesOf<EventEnd>) {
        events_[end].counter = &metrics.counter(metric::kRetryEvents, "Events by outcome.",
                                                {{"outcome", std::string{core::name_of(end)}}});
    }
    filter_steps_.counter = &metrics.counter(metric::kRetryFilterSteps,
                                             "Steps that filters took: some 10 to 30 ns each.");
}

void RoleMetrics::Follower::follow(std::uint64_t now) {
    const auto more = now >= seen ? now - seen : now;
    seen = now;
    if (more > 0) counter->Increment(unit * static_cast<double>(more));
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

RoleMetrics::OfTier& RoleMetrics::of_tier(int tier) {
    const auto found = tiers_.find(tier);
    if (found != tiers_.end()) return found->second;
    const auto number = std::to_string(tier);
    const OfTier one{
        .waiting = &metrics_.gauge(metric::kRetryTierWaiting,
                                   "Deliveries that wait in a delay tier, of the partitions that "
                                   "this process serves.",
                                   {{"tier", number}}),
        .oldest = &metrics_.gauge(metric::kRetryTierOldest,
                                  "How long the oldest delivery has waited in a delay tier.",
                                  {{"tier", number}}),
        .overdue = &metrics_.gauge(metric::kRetryTierOverdue,
                                   "How long ago the first delivery of a delay tier became due "
                                   "that is not finished; 0: none is due.",
                                   {{"tier", number}})};
    return tiers_.emplace(tier, one).first->second;
}

/// The metrics of a tier that this process does not serve any more go to 0.
void RoleMetrics::measure_tiers(const std::map<int, TierWatch::Waiting>& tiers) {
    for (const auto& [tier, shown] : tiers_) {
        if (!tiers.contains(tier)) {
            shown.waiting->Set(0);
            shown.oldest->Set(0);
            shown.overdue->Set(0);
        }
    }
    for (const auto& [tier, held] : tiers) {
        const auto& shown = of_tier(tier);
        shown.waiting->Set(static_cast<double>(held.records));
        shown.oldest->Set(std::chrono::duration<double>{held.oldest}.count());
        shown.overdue->Set(std::chrono::duration<double>{held.overdue}.count());
    }
}

void RoleMetrics::measure(const RetryNode& node, const DeliveryShard::Counts& counts) {
    partitions_.Set(static_cast<double>(node.partitions_served()));
    webhooks_.Set(static_cast<double>(node.webhooks().size()));
    disabled_.Set(static_cast<double>(node.webhooks().disabled()));
    dead_unlisted_.Set(static_cast<double>(node.dead_letters().passed_over()));
    measure_tiers(node.tiers());
    waiting_.Set(static_cast<double>(counts.waiting));
    under_way_.Set(static_cast<double>(counts.under_way));
    const auto& tally = counts.tally;
    for (auto& [outcome, shown] : attempts_) shown.follow(tally.attempts[outcome]);
    for (const auto end : core::kValuesOf<DeliveryEnd>) {
        deliveries_[end].follow(tally.deliveries[end]);
    }
    for (const auto end : core::kValuesOf<EventEnd>) events_[end].follow(tally.events[end]);
    filter_steps_.follow(tally.filter_steps);
    measure_owners(counts.usage);
}

void RoleMetrics::turned(const std::string& thread, core::Duration longest) {
    auto& shown = turns_[thread];
    if (!shown) {
        shown = &metrics_.gauge(metric::kRetryLongestTurn,
                                "The most processor time in the last second that a thread of "
                                "the role spent on one task, while its other tasks waited.",
                                {{"thread", thread}});
    }
    shown->Set(std::chrono::duration<double>{longest}.count());
}

void RoleMetrics::replied(int status) {
    replies_[static_cast<std::size_t>(std::clamp(status / 100, 2, 5) - 2)]->Increment();
}

void RoleMetrics::closed(net::CloseReason reason) {
    connections_.Decrement();
    closed_[reason]->Increment();
}

void RoleMetrics::turned_away(net::CloseReason reason) { closed_[reason]->Increment(); }

}  // namespace beckon::retry
