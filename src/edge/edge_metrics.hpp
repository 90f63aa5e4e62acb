#pragma once

#include "edge/front/front.hpp"
#include "edge/home/home_metrics.hpp"
#include "edge/ws/ws_server.hpp"
#include "ops/metrics.hpp"

namespace beckon::edge {

/// What an edge counts; looked up once, shared by its shards.
struct EdgeMetrics {
    explicit EdgeMetrics(ops::Metrics& metrics);

    FrontMetrics front;
    WsServerMetrics sockets;
    HomeMetrics homes;
};

}  // namespace beckon::edge
