#pragma once

#include "edge/front/front.hpp"
#include "edge/home/home_metrics.hpp"
#include "edge/ws/ws_server.hpp"
#include "ops/metrics.hpp"

namespace beckon::edge {

/// The metrics of an edge's links.
struct LinkMetrics {
    prometheus::Gauge* up = nullptr;
    prometheus::Counter* to_homes = nullptr;   ///< received for homes of this node
    prometheus::Counter* to_fronts = nullptr;  ///< received for fronts of this node
    prometheus::Counter* refused = nullptr;
    prometheus::Counter* lost = nullptr;
    prometheus::Gauge* waiting_bytes = nullptr;
};

/// The metrics of nodes that die.
struct ClusterMetrics {
    prometheus::Counter* suspicions = nullptr;
    prometheus::Counter* wrong_suspicions = nullptr;
    prometheus::Histogram* failover_seconds = nullptr;
};

/// The metrics of broadcasts.
struct BroadcastMetrics {
    prometheus::Gauge* known = nullptr;
    prometheus::Counter* polls_ok = nullptr;
    prometheus::Counter* polls_failed = nullptr;
};

/// The messages that wait in the store for clients of the partitions that are served here.
struct WaitingMetrics {
    prometheus::Gauge* messages = nullptr;
    prometheus::Gauge* oldest_seconds = nullptr;
};

/// The metrics of an edge, looked up once and shared by its shards.
struct EdgeMetrics {
    explicit EdgeMetrics(ops::Metrics& metrics);

    FrontMetrics front;
    WsServerMetrics sockets;
    HomeMetrics homes;
    LinkMetrics links;
    ClusterMetrics cluster;
    BroadcastMetrics broadcasts;
    WaitingMetrics waiting;
};

}  // namespace beckon::edge
