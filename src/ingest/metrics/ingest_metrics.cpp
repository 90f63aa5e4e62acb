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
    : connections(metrics.gauge(metric::kIngestConnections, "Open connections.")),
      publish_waiting(
          metrics.gauge(metric::kIngestPublishWaiting, "Messages that wait for the log's report.")),
      publish_waiting_bytes(metrics.gauge(metric::kIngestPublishWaitingBytes,
                                          "Bodies that wait for the log's report.")),
      vapid_cached(metrics.gauge(metric::kIngestVapidCached, "Verified VAPID tokens in memory.")),
      view_lag_records(metrics.gauge(metric::kIngestViewLag,
                                     "Records of subscriptions that the view has not folded.")),
      view_lag_seconds(metrics.gauge(metric::kIngestViewLagSeconds,
                                     "Age of the oldest record that the view has not folded.")),
      view_stuck(
          metrics.gauge(metric::kIngestViewStuck, "Partitions that the view cannot go on with.")),
      view_folded(metrics.counter(metric::kIngestViewFolded, "Records folded into the view.")),
      view_unknown(metrics.counter(metric::kIngestViewUnknown,
                                   "Records of subscriptions that this build does not know.")),
      accept_pauses(metrics.counter(metric::kIngestAcceptPauses,
                                    "Times that accepting paused for want of descriptors.")),
      publish_seconds(
          metrics.seconds(metric::kIngestPublishSeconds, "From publish to the log's report.")),
      mark_seconds(metrics.seconds(metric::kIngestMarkSeconds,
                                   "From a question to its mark having passed.")),
      metrics_(metrics) {
    for (int i = 0; i < kRoutes; ++i) {
        const auto route = to_string(static_cast<RouteName>(i));
        seconds_[static_cast<std::size_t>(i)] =
            &metrics.seconds(metric::kIngestRequestSeconds, "From a whole request to its reply.",
                             {{"route", std::string{route}}});
    }
    for (int i = 0; i < kVapidOutcomes; ++i) {
        vapid_[static_cast<std::size_t>(i)] =
            &metrics.counter(metric::kIngestVapid, "VAPID checks by outcome.",
                             {{"outcome", std::string{label(static_cast<VapidOutcome>(i))}}});
    }
    for (int i = 0; i < net::kCloseReasons; ++i) {
        closed_[static_cast<std::size_t>(i)] = &metrics.counter(
            metric::kIngestClosed, "Connections that ended, by reason.",
            {{"reason", std::string{to_string(static_cast<net::CloseReason>(i))}}});
    }
    const char* help = "Marks asked for before a negative answer.";
    marked_ = {&metrics.counter(metric::kIngestMarks, help, {{"outcome", "passed"}}),
               &metrics.counter(metric::kIngestMarks, help, {{"outcome", "failed"}})};
}

void IngestMetrics::answered(RouteName route, int status, double seconds) {
    const auto found = std::find(kStatuses.begin(), kStatuses.end() - 1, status);
    const auto at = static_cast<std::size_t>(found - kStatuses.begin());
    const auto row = static_cast<std::size_t>(route);
    made_once(answered_[row][at], [&]() -> prometheus::Counter& {
        return metrics_.counter(
            metric::kIngestRequests, "Requests answered.",
            {{"route", std::string{to_string(route)}},
             {"status", kStatuses[at] == 0 ? std::string{"other"} : std::to_string(status)}});
    }).Increment();
    seconds_[row]->Observe(seconds);
}

void IngestMetrics::refused(Problem problem) {
    made_once(refused_[static_cast<std::size_t>(problem)], [&]() -> prometheus::Counter& {
        return metrics_.counter(metric::kIngestRefused, "Requests refused, by problem.",
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

void IngestMetrics::marked(MarkOutcome outcome) {
    marked_[static_cast<std::size_t>(outcome)]->Increment();
}

}  // namespace beckon::ingest
