#include "retry/role/bridge_metrics.hpp"

#include "ops/metric_names.hpp"

#include <chrono>

namespace beckon::retry {

namespace metric = ops::metric;

namespace {

constexpr std::array kBridges{core::RouterType::fcm, core::RouterType::apns};

}  // namespace

BridgeMetrics::BridgeMetrics(ops::Metrics& metrics)
    : waiting_(metrics.gauge(metric::kRetryBridgeWaiting,
                             "Messages of bridged clients that are due and wait for an attempt.")),
      under_way_(metrics.gauge(metric::kRetryBridgeUnderWay,
                               "Attempts at bridges without an answer yet.")) {
    for (const auto bridge : kBridges) {
        const std::string name{core::to_string(bridge)};
        auto& of = bridges_[bridge];
        for (const auto outcome : core::kValuesOf<BridgeOutcome>) {
            of.attempts[outcome] =
                &metrics.counter(metric::kRetryBridgeAttempts, "Attempts at a bridge, by outcome.",
                                 {{"bridge", name}, {"outcome", std::string{to_string(outcome)}}});
        }
        for (const bool good : {true, false}) {
            of.tokens[good] = &metrics.counter(
                metric::kRetryBridgeTokens, "Tokens for a bridge that were made or asked for.",
                {{"bridge", name}, {"result", good ? "renewed" : "failed"}});
        }
        of.seconds = &metrics.seconds(metric::kRetryBridgeSeconds,
                                      "How long attempts at a bridge took.", {{"bridge", name}});
        of.faulty = &metrics.gauge(metric::kRetryBridgeFaults,
                                   "Apps of a bridge that need a person: their credentials are "
                                   "refused, no attempt succeeds, or they are not configured.",
                                   {{"bridge", name}});
    }
    for (const auto end : core::kValuesOf<BridgedEnd>) {
        messages_[end].first = &metrics.counter(metric::kRetryBridgeMessages,
                                                "Messages of bridged clients that end or wait "
                                                "without an attempt, by outcome, and dead tokens.",
                                                {{"outcome", std::string{core::name_of(end)}}});
    }
}

void BridgeMetrics::attempted(core::RouterType bridge, BridgeOutcome outcome, core::Duration took) {
    const auto& of = bridges_.at(bridge);
    of.attempts.at(outcome)->Increment();
    of.seconds->Observe(std::chrono::duration<double>(took).count());
}

void BridgeMetrics::token_renewed(core::RouterType bridge, bool good) {
    bridges_.at(bridge).tokens.at(good)->Increment();
}

void BridgeMetrics::measure(const DeliveryShard::Counts& counts) {
    waiting_.Set(static_cast<double>(counts.bridged_waiting));
    under_way_.Set(static_cast<double>(counts.bridged_under_way));
    for (const auto end : core::kValuesOf<BridgedEnd>) {
        auto& [counter, seen] = messages_[end];
        const auto now = counts.tally.bridged[end];
        counter->Increment(static_cast<double>(now - seen));
        seen = now;
    }
    std::map<core::RouterType, int> faulty;
    for (const auto& [app, why] : counts.bridge_faults) ++faulty[app.first];
    for (const auto& [bridge, of] : bridges_) of.faulty->Set(faulty[bridge]);
}

}  // namespace beckon::retry
