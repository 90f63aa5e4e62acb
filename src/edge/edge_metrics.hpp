#pragma once

#include "edge/front/front.hpp"
#include "edge/home/home_metrics.hpp"
#include "edge/ws/ws_server.hpp"
#include "ops/metric_names.hpp"
#include "ops/metrics.hpp"

namespace beckon::edge {

/// The metrics of an edge's links.
struct LinkMetrics {
    ops::Metrics& in;
    prometheus::Gauge* up = &in.gauge(ops::metric::kEdgeLinks, "Links to other edges that are up.");
    static constexpr std::string_view kMessages = "Messages that arrived over links, by receiver.";
    prometheus::Counter* to_homes =
        &in.counter(ops::metric::kEdgeLinkMessages, kMessages, {{"for", "homes"}});
    prometheus::Counter* to_fronts =
        &in.counter(ops::metric::kEdgeLinkMessages, kMessages, {{"for", "fronts"}});
    prometheus::Counter* refused = &in.counter(
        ops::metric::kEdgeLinkRefused,
        "Connections to the link port that were refused: another key ring, another log, or no edge "
        "at all.");
    prometheus::Counter* lost = &in.counter(ops::metric::kEdgeLinkLost, "Links that went down.");
    prometheus::Gauge* waiting_bytes =
        &in.gauge(ops::metric::kEdgeLinkWaitingBytes, "Bytes that wait to be sent over links.");
};

/// The metrics of nodes that die.
struct ClusterMetrics {
    ops::Metrics& in;
    prometheus::Counter* suspicions =
        &in.counter(ops::metric::kEdgeSuspicions,
                    "Times that this edge found another one dead, since calls to it were refused, "
                    "and told the others.");
    prometheus::Counter* wrong_suspicions =
        &in.counter(ops::metric::kEdgeWrongSuspicions,
                    "Edges that were taken for gone and then said that they live.");
    prometheus::Histogram* failover_seconds =
        &in.seconds(ops::metric::kEdgeFailoverSeconds,
                    "Time from the first sign that an edge has died until others serve all of its "
                    "partitions; measured by the controller.");
};

/// The metrics of broadcasts.
struct BroadcastMetrics {
    ops::Metrics& in;
    prometheus::Gauge* known =
        &in.gauge(ops::metric::kEdgeBroadcasts, "Broadcasts that clients may follow.");
    static constexpr std::string_view kPolls =
        "Polls of the page that names broadcasts, by result.";
    prometheus::Counter* polls_ok =
        &in.counter(ops::metric::kEdgeBroadcastPolls, kPolls, {{"result", "ok"}});
    prometheus::Counter* polls_failed =
        &in.counter(ops::metric::kEdgeBroadcastPolls, kPolls, {{"result", "failed"}});
};

/// The messages that wait in the store for clients of the partitions that are served here.
struct WaitingMetrics {
    ops::Metrics& in;
    prometheus::Gauge* messages =
        &in.gauge(ops::metric::kEdgeWaiting,
                  "Messages that wait in the store for their client, in the partitions that this "
                  "edge serves.");
    prometheus::Gauge* oldest_seconds = &in.gauge(
        ops::metric::kEdgeWaitingOldest, "Age of the oldest message that waits for its client.");
};

/// The metrics of an edge, looked up once and shared by its shards.
struct EdgeMetrics {
    explicit EdgeMetrics(ops::Metrics& in)
        : front{in}, sockets{in}, homes{in}, links{in}, cluster{in}, broadcasts{in}, waiting{in} {}

    FrontMetrics front;
    WsServerMetrics sockets;
    HomeMetrics homes;
    LinkMetrics links;
    ClusterMetrics cluster;
    BroadcastMetrics broadcasts;
    WaitingMetrics waiting;
};

}  // namespace beckon::edge
