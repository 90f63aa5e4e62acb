#pragma once

#include "edge/front.hpp"
#include "edge/ws_server.hpp"
#include "ops/metrics.hpp"

namespace beckon::edge {

/// What the sockets of an edge count; looked up once, shared by its shards.
struct EdgeMetrics {
    explicit EdgeMetrics(ops::Metrics& metrics);

    FrontMetrics front;
    WsServerMetrics sockets;
};

}  // namespace beckon::edge
