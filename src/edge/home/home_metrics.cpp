#include "edge/home/home_metrics.hpp"

#include "ops/metric_names.hpp"

#include <string>

namespace beckon::edge {

namespace metric = ops::metric;

namespace {

double difference(std::size_t now, std::size_t before) {
    return static_cast<double>(now) - static_cast<double>(before);
}

template <std::size_t N>
void report_each(const std::array<prometheus::Counter*, N>& counters,
                 const std::array<std::uint64_t, N>& now,
                 const std::array<std::uint64_t, N>& before) {
    for (std::size_t i = 0; i < N; ++i) counters[i]->Increment(difference(now[i], before[i]));
}

}  // namespace

std::string_view to_string(Home::State state) {
    switch (state) {
        case Home::State::starting: return "starting";
        case Home::State::restoring: return "restoring";
        case Home::State::standby: return "standby";
        case Home::State::claiming: return "claiming";
        case Home::State::serving: return "serving";
    }
    return "standby";
}

void HomeTotals::add(const Home::Status& status) {
    ++in_state[static_cast<std::size_t>(status.state)];
    sessions += status.sessions;
    pending_tombstones += status.pending_tombstones;
    *this += status;
}

HomeMetrics::HomeMetrics(ops::Metrics& metrics)
    : metrics_(metrics),
      times_{&metrics.seconds(
                 metric::kEdgeDeliverSeconds,
                 "Time from a message's append to the log to its frame, for attached clients."),
             &metrics.seconds(metric::kEdgeAckSeconds,
                              "Time from a notification frame to the client's ack.")},
      sessions_(
          metrics.gauge(metric::kEdgeSessions, "Sessions of this edge's homes: attached clients.")),
      pending_tombstones_(
          metrics.gauge(metric::kEdgePendingTombstones,
                        "Pending tombstones: finished messages whose tombstone is not read back "
                        "from the log yet.")),
      delivered_(metrics.counter(metric::kEdgeDelivered,
                                 "Notification frames sent, repeated ones included.")),
      acked_(metrics.counter(metric::kEdgeAcked, "Messages acknowledged by their client.")),
      unknown_records_(metrics.counter(metric::kEdgeUnknownRecords,
                                       "Log records of a type that this build does not know.")),
      refused_frames_(
          metrics.counter(metric::kEdgeRefusedFrames,
                          "Connections that were closed because a client broke the protocol.")) {
    for (std::size_t i = 0; i < Home::kFinishReasons; ++i) {
        const auto reason = core::to_string(static_cast<core::FinishReason>(i));
        finished_[i] =
            &metrics.counter(metric::kEdgeFinished, "Messages that were finished, by reason.",
                             {{"reason", std::string{reason}}});
    }
    for (std::size_t i = 0; i < kCommands.size(); ++i) {
        commands_[i] = &metrics.counter(metric::kEdgeCommands, "Frames from clients, by command.",
                                        {{"command", std::string{kCommands[i]}}});
    }
    for (std::size_t i = 0; i < kAnswerCodes.size(); ++i) {
        codes_[i] = &metrics.counter(metric::kEdgeAnswers,
                                     "Codes that clients gave in acks, nacks and unregisters.",
                                     {{"answer", std::string{kAnswerCodes[i]}}});
    }
    for (std::size_t i = 0; i < Removals::kReasons; ++i) {
        removed_[i] = &metrics.counter(
            metric::kEdgeClientsRemoved,
            "Clients that were removed with their channels and messages, by reason.",
            {{"reason", std::string{to_string(static_cast<Removals::Why>(i))}}});
    }
    for (std::size_t i = 0; i < Home::kStates; ++i) {
        states_[i] =
            &metrics.gauge(metric::kEdgePartitions, "Partitions by the state of their home.",
                           {{"state", std::string{to_string(static_cast<Home::State>(i))}}});
    }
}

void HomeMetrics::report(const HomeTotals& now, const HomeTotals& before) const {
    for (std::size_t i = 0; i < Home::kStates; ++i) {
        states_[i]->Increment(difference(now.in_state[i], before.in_state[i]));
    }
    sessions_.Increment(difference(now.sessions, before.sessions));
    pending_tombstones_.Increment(difference(now.pending_tombstones, before.pending_tombstones));
    delivered_.Increment(difference(now.delivered, before.delivered));
    acked_.Increment(difference(now.acked, before.acked));
    unknown_records_.Increment(difference(now.unknown_records, before.unknown_records));
    refused_frames_.Increment(difference(now.refused_frames, before.refused_frames));
    report_each(finished_, now.finished, before.finished);
    report_each(codes_, now.codes, before.codes);
    report_each(removed_, now.removed, before.removed);
    report_each(commands_, now.commands, before.commands);
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
