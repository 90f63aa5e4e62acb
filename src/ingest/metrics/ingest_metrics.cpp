#include "ingest/metrics/ingest_metrics.hpp"

#include "ops/metric_names.hpp"

#include <algorithm>
#include <string>

namespace beckon::ingest {

namespace metric = ops::metric;

namespace {

std::string_view label(VapidOutcome outcome) {
    switch (outcome) {
        case VapidOutcome::hit: return "hit";
        case VapidOutcome::verified: return "verified";
        case VapidOutcome::refused: return "refused";
        case VapidOutcome::forged: return "forged";
        case VapidOutcome::limited: return "limited";
    }
    return "refused";
}

/// Two threads may both look it up: they get the same counter.
template <class Make>
prometheus::Counter& made_once(std::atomic<prometheus::Counter*>& slot, Make make) {
    if (auto* counter = slot.load(std::memory_order_acquire)) return *counter;
    auto& counter = make();
    slot.store(&counter, std::memory_order_release);
    return counter;
}

}  // namespace

IngestMetrics::IngestMetrics(ops::Metrics& metrics)
    : connections(metrics.gauge(metric::kIngestConnections,
                                "Open connections of the endpoint's public port.")),
      publish_waiting(metrics.gauge(metric::kIngestPublishWaiting,
                                    "Messages that wait for their delivery report from the log.")),
      publish_waiting_bytes(
          metrics.gauge(metric::kIngestPublishWaitingBytes,
                        "Bytes of messages that wait for their delivery report from the log.")),
      vapid_cached(metrics.gauge(metric::kIngestVapidCached, "Verified VAPID tokens in memory.")),
      view_lag_records(
          metrics.gauge(metric::kIngestViewLag,
                        "Records of subscriptions that the endpoint's view has not folded yet.")),
      view_lag_seconds(
          metrics.gauge(metric::kIngestViewLagSeconds,
                        "Age of the oldest record that the endpoint's view has not folded yet.")),
      view_stuck(metrics.gauge(metric::kIngestViewStuck,
                               "Partitions that the endpoint's view cannot fold at present.")),
      view_folded(metrics.counter(metric::kIngestViewFolded,
                                  "Records that the endpoint's view has folded.")),
      view_unknown(
          metrics.counter(metric::kIngestViewUnknown,
                          "Records of subscriptions of a type that this build does not know.")),
      accept_pauses(metrics.counter(
          metric::kIngestAcceptPauses,
          "Times that the endpoint stopped accepting connections, for want of descriptors.")),
      publish_seconds(
          metrics.seconds(metric::kIngestPublishSeconds,
                          "Time from publishing a message to the log's delivery report.")),
      barrier_seconds(
          metrics.seconds(metric::kIngestReadBarrierSeconds,
                          "Time from a barrier query to the read barrier that answered it.")),
      metrics_(metrics) {
    for (int i = 0; i < kRoutes; ++i) {
        const auto route = to_string(static_cast<RouteName>(i));
        seconds_[static_cast<std::size_t>(i)] = &metrics.seconds(
            metric::kIngestRequestSeconds, "Time from a complete request to its reply.",
            {{"route", std::string{route}}});
    }
    for (int i = 0; i < kVapidOutcomes; ++i) {
        vapid_[static_cast<std::size_t>(i)] = &metrics.counter(
            metric::kIngestVapid, "VAPID checks, by outcome; hit: the token was verified before.",
            {{"outcome", std::string{label(static_cast<VapidOutcome>(i))}}});
    }
    for (int i = 0; i < net::kCloseReasons; ++i) {
        closed_[static_cast<std::size_t>(i)] = &metrics.counter(
            metric::kIngestClosed,
            "Connections of the endpoint's public port that ended, by reason.",
            {{"reason", std::string{to_string(static_cast<net::CloseReason>(i))}}});
    }
    const char* help = "Read barriers requested before a negative answer, by outcome.";
    barriers_ = {&metrics.counter(metric::kIngestReadBarriers, help, {{"outcome", "passed"}}),
                 &metrics.counter(metric::kIngestReadBarriers, help, {{"outcome", "failed"}})};
}

void IngestMetrics::answered(RouteName route, int status, double seconds) {
    const auto found = std::find(kStatuses.begin(), kStatuses.end() - 1, status);
    const auto at = static_cast<std::size_t>(found - kStatuses.begin());
    const auto row = static_cast<std::size_t>(route);
    made_once(answered_[row][at], [&]() -> prometheus::Counter& {
        return metrics_.counter(
            metric::kIngestRequests, "HTTP requests that were answered, by route and status.",
            {{"route", std::string{to_string(route)}},
             {"status", kStatuses[at] == 0 ? std::string{"other"} : std::to_string(status)}});
    }).Increment();
    seconds_[row]->Observe(seconds);
}

void IngestMetrics::refused(Problem problem) {
    made_once(refused_[static_cast<std::size_t>(problem)], [&]() -> prometheus::Counter& {
        return metrics_.counter(metric::kIngestRefused, "Requests that were refused, by problem.",
                                {{"problem", std::string{to_string(problem)}}});
    }).Increment();
}

void IngestMetrics::vapid(VapidOutcome outcome) {
    vapid_[static_cast<std::size_t>(outcome)]->Increment();
}

void IngestMetrics::closed(net::CloseReason reason) {
    connections.Decrement();
    closed_[static_cast<std::size_t>(reason)]->Increment();
}

void IngestMetrics::turned_away(net::CloseReason reason) {
    closed_[static_cast<std::size_t>(reason)]->Increment();
}

void IngestMetrics::count_barrier(BarrierOutcome outcome) {
    barriers_[static_cast<std::size_t>(outcome)]->Increment();
}

}  // namespace beckon::ingest
