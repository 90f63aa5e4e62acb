#include "edge/edge_metrics.hpp"

#include "ops/metric_names.hpp"

namespace beckon::edge {

namespace metric = ops::metric;

EdgeMetrics::EdgeMetrics(ops::Metrics& metrics) : homes(metrics) {
    front.frames_in = &metrics.counter(metric::kEdgeFrames, "WebSocket text frames, by direction.",
                                       {{"direction", "in"}});
    front.frames_out = &metrics.counter(metric::kEdgeFrames, "WebSocket text frames, by direction.",
                                        {{"direction", "out"}});
    front.clients =
        &metrics.gauge(metric::kEdgeClients, "Clients that are connected and have said hello.");
    front.reattached =
        &metrics.counter(metric::kEdgeReattached,
                         "Clients that a new home took over while their connection stayed open.");
    front.homeless =
        &metrics.gauge(metric::kEdgeHomeless, "Connected clients that wait for a home.");
    front.refused_frames =
        &metrics.counter(metric::kEdgeRefusedFrames,
                         "Connections that were closed because a client broke the protocol.");
    front.broadcast_subscribes =
        &metrics.counter(metric::kEdgeCommands, "Frames from clients, by command.",
                         {{"command", std::string{kCommands[kBroadcastSubscribeCommand]}}});
    front.broadcasts_sent = &metrics.counter(
        metric::kEdgeBroadcastsSent, "Broadcast frames sent, which notify clients of a change.");
    broadcasts.known =
        &metrics.gauge(metric::kEdgeBroadcasts, "Broadcasts that clients may follow.");
    constexpr std::string_view kPolls = "Polls of the page that names broadcasts, by result.";
    broadcasts.polls_ok = &metrics.counter(metric::kEdgeBroadcastPolls, kPolls, {{"result", "ok"}});
    broadcasts.polls_failed =
        &metrics.counter(metric::kEdgeBroadcastPolls, kPolls, {{"result", "failed"}});
    waiting.messages = &metrics.gauge(metric::kEdgeWaiting,
                                      "Messages that wait in the store for their client, in the "
                                      "partitions that this edge serves.");
    waiting.oldest_seconds = &metrics.gauge(metric::kEdgeWaitingOldest,
                                            "Age of the oldest message that waits for its client.");
    links.up = &metrics.gauge(metric::kEdgeLinks, "Links to other edges that are up.");
    links.to_homes =
        &metrics.counter(metric::kEdgeLinkMessages,
                         "Messages that arrived over links, by receiver.", {{"for", "homes"}});
    links.to_fronts =
        &metrics.counter(metric::kEdgeLinkMessages,
                         "Messages that arrived over links, by receiver.", {{"for", "fronts"}});
    links.refused = &metrics.counter(metric::kEdgeLinkRefused,
                                     "Connections to the link port that were refused: another key "
                                     "ring, another log, or no edge at all.");
    links.lost = &metrics.counter(metric::kEdgeLinkLost, "Links that went down.");
    links.waiting_bytes =
        &metrics.gauge(metric::kEdgeLinkWaitingBytes, "Bytes that wait to be sent over links.");
    cluster.suspicions =
        &metrics.counter(metric::kEdgeSuspicions,
                         "Times that this edge found another one dead, since calls to it were "
                         "refused, and told the others.");
    cluster.wrong_suspicions =
        &metrics.counter(metric::kEdgeWrongSuspicions,
                         "Edges that were taken for gone and then said that they live.");
    cluster.failover_seconds = &metrics.seconds(
        metric::kEdgeFailoverSeconds,
        "Time from the first sign that an edge has died until others serve all of its partitions; "
        "measured by the controller.");
    sockets.connections =
        &metrics.gauge(metric::kEdgeConnections, "Open sockets on the WebSocket port.");
    sockets.closed = metrics.counters<ClosedBy>(
        metric::kEdgeClosed, "WebSocket connections that ended, by reason.", "reason");
    constexpr std::string_view kRefused =
        "Connections that ended before they became WebSockets, by reason.";
    sockets.refused_full = &metrics.counter(metric::kEdgeRefused, kRefused, {{"reason", "full"}});
    sockets.refused_origin =
        &metrics.counter(metric::kEdgeRefused, kRefused, {{"reason", "origin"}});
    sockets.refused_proxy_header =
        metrics.counters<net::ProxyFault>(metric::kEdgeRefused, kRefused, "reason");
    sockets.handshake_timeouts =
        &metrics.counter(metric::kEdgeRefused, kRefused, {{"reason", "handshake_timeout"}});
    sockets.accept_pauses = &metrics.counter(metric::kEdgeAcceptPauses,
                                             "Times that the edge stopped accepting connections, "
                                             "for want of file descriptors or memory.");
}

}  // namespace beckon::edge
