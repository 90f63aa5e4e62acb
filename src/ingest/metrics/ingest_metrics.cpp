#include "ingest/metrics/ingest_metrics.hpp"

#include "core/enum_names.hpp"
#include "ops/metric_names.hpp"

#include <algorithm>
#include <string>

namespace beckon::ingest {

namespace metric = ops::metric;

namespace {

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
      metrics_(metrics),
      vapid_(metrics.counters<VapidOutcome>(
          metric::kIngestVapid, "VAPID checks, by outcome; hit: the token was verified before.",
          "outcome")),
      closed_(metrics.counters<net::CloseReason>(
          metric::kIngestClosed, "Connections of the endpoint's public port that ended, by reason.",
          "reason")),
      barriers_(metrics.counters<BarrierOutcome>(
          metric::kIngestReadBarriers,
          "Read barriers requested before a negative answer, by outcome.", "outcome")) {
    for (const auto route : core::kValuesOf<RouteName>) {
        seconds_[route] = &metrics.seconds(metric::kIngestRequestSeconds,
                                           "Time from a complete request to its reply.",
                                           {{"route", std::string{to_string(route)}}});
    }
}

void IngestMetrics::answered(RouteName route, int status, double seconds) {
    const auto found = std::find(kStatuses.begin(), kStatuses.end() - 1, status);
    const auto at = static_cast<std::size_t>(found - kStatuses.begin());
    made_once(answered_[route][at], [&]() -> prometheus::Counter& {
        return metrics_.counter(
            metric::kIngestRequests, "HTTP requests that were answered, by route and status.",
            {{"route", std::string{to_string(route)}},
             {"status", kStatuses[at] == 0 ? std::string{"other"} : std::to_string(status)}});
    }).Increment();
    seconds_[route]->Observe(seconds);
}

void IngestMetrics::refused(Problem problem) {
    made_once(refused_[problem], [&]() -> prometheus::Counter& {
        return metrics_.counter(metric::kIngestRefused, "Requests that were refused, by problem.",
                                {{"problem", std::string{to_string(problem)}}});
    }).Increment();
}

void IngestMetrics::vapid(VapidOutcome outcome) { vapid_[outcome]->Increment(); }

void IngestMetrics::closed(net::CloseReason reason) {
    connections.Decrement();
    closed_[reason]->Increment();
}

void IngestMetrics::turned_away(net::CloseReason reason) { closed_[reason]->Increment(); }

prometheus::Gauge& IngestMetrics::view_offset(core::Partition partition) {
    return metrics_.gauge(metric::kIngestViewOffset,
                          "Next record of subscriptions that the endpoint's view will fold.",
                          {{"partition", std::to_string(partition)}});
}

void IngestMetrics::count_barrier(BarrierOutcome outcome) { barriers_[outcome]->Increment(); }

}  // namespace beckon::ingest
