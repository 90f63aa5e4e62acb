#include "edge/home/home_metrics.hpp"

#include "ops/metric_names.hpp"

#include <string>

namespace beckon::edge {

namespace metric = ops::metric;

namespace {

double difference(std::size_t now, std::size_t before) {
    return static_cast<double>(now) - static_cast<double>(before);
}

}  // namespace

void HomeTotals::add(const Home::Status& status) {
    ++in_state[status.state];
    sessions += status.sessions;
    pending_tombstones += status.pending_tombstones;
    edge::add(*this, status);
}

HomeMetrics::HomeMetrics(ops::Metrics& metrics)
    : metrics_(metrics),
      times_{&metrics.seconds(
                 metric::kEdgeDeliverSeconds,
                 "Time from a message's append to the log to its frame, for attached clients."),
             &metrics.seconds(metric::kEdgeAckSeconds,
                              "Time from a notification frame to the client's ack.")},
      states_(metrics.gauges<Home::State>(metric::kEdgePartitions,
                                          "Partitions by the state of their home.", "state")),
      sessions_(
          metrics.gauge(metric::kEdgeSessions, "Sessions of this edge's homes: attached clients.")),
      pending_tombstones_(
          metrics.gauge(metric::kEdgePendingTombstones,
                        "Pending tombstones: finished messages whose tombstone is not read back "
                        "from the log yet.")),
      counters_{
          .delivered = &metrics.counter(metric::kEdgeDelivered,
                                        "Notification frames sent, repeated ones included."),
          .acked = &metrics.counter(metric::kEdgeAcked, "Messages acknowledged by their client."),
          .unknown_records = &metrics.counter(
              metric::kEdgeUnknownRecords, "Log records of a type that this build does not know."),
          .refused_frames =
              &metrics.counter(metric::kEdgeRefusedFrames,
                               "Connections that were closed because a client broke the protocol."),
          .removed = metrics.counters<RemovalReason>(
              metric::kEdgeClientsRemoved,
              "Clients that were removed with their channels and messages, by reason.", "reason"),
          .finished = metrics.counters<core::FinishReason>(
              metric::kEdgeFinished, "Messages that were finished, by reason.", "reason")} {
    for (std::size_t i = 0; i < kCommands.size(); ++i) {
        counters_.commands[i] =
            &metrics.counter(metric::kEdgeCommands, "Frames from clients, by command.",
                             {{"command", std::string{kCommands[i]}}});
    }
    for (std::size_t i = 0; i < kAnswerCodes.size(); ++i) {
        counters_.codes[i] = &metrics.counter(
            metric::kEdgeAnswers, "Codes that clients gave in acks, nacks and unregisters.",
            {{"answer", std::string{kAnswerCodes[i]}}});
    }
}

void HomeMetrics::report(const HomeTotals& now, const HomeTotals& before) const {
    for (const auto state : core::kValuesOf<Home::State>) {
        states_[state]->Increment(difference(now.in_state[state], before.in_state[state]));
    }
    sessions_.Increment(difference(now.sessions, before.sessions));
    pending_tombstones_.Increment(difference(now.pending_tombstones, before.pending_tombstones));
    for_each_counter([](prometheus::Counter* metric, std::uint64_t is,
                        std::uint64_t was) { metric->Increment(difference(is, was)); },
                     counters_, now, before);
}

void HomeMetrics::report_lag(std::string_view shard, const HomeLag& lag) const {
    metrics_
        .gauge(metric::kEdgeLag, "Records that the homes of a shard have not folded yet.",
               {{"shard", std::string{shard}}})
        .Set(static_cast<double>(lag.records));
    metrics_
        .gauge(metric::kEdgeLagSeconds,
               "Age of the oldest record that the homes of a shard have not folded yet.",
               {{"shard", std::string{shard}}})
        .Set(std::chrono::duration<double>(lag.age).count());
    metrics_
        .gauge(metric::kEdgeRestoredRatio,
               "Share that restoring partitions have folded, from 0 to 1; 1: none is restoring.",
               {{"shard", std::string{shard}}})
        .Set(lag.restored_ratio());
}

}  // namespace beckon::edge
