#pragma once

#include "core/clock.hpp"
#include "edge/edge_options.hpp"
#include "edge/front/sockets.hpp"
#include "edge/loop/acceptor.hpp"
#include "edge/loop/shard_loop.hpp"
#include "edge/ws/monitor_routes.hpp"
#include "net/connection_limiter.hpp"
#include "net/descriptor.hpp"
#include "net/peer_address.hpp"
#include "net/proxy_header.hpp"
#include "net/tls.hpp"
#include "ops/metric_names.hpp"
#include "ops/metrics.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::edge {

/// nullopt: without TLS. Throws std::runtime_error: a certificate without a key, or the reverse.
std::optional<net::TlsFiles> tls_files(const EdgeOptions& options);

/// The keys of TLS session tickets. Those of one shard are good on the others if all have the same.
using TicketKeys = std::array<unsigned char, 80>;

struct WsServerMetrics {
    ops::Metrics& in;
    prometheus::Gauge* connections =
        &in.gauge(ops::metric::kEdgeConnections, "Open sockets on the WebSocket port.");
    core::ByEnum<ClosedBy, prometheus::Counter*> closed = in.counters<ClosedBy>(
        ops::metric::kEdgeClosed, "WebSocket connections that ended, by reason.", "reason");
    static constexpr std::string_view kRefused =
        "Connections that ended before they became WebSockets, by reason.";
    prometheus::Counter* refused_full =
        &in.counter(ops::metric::kEdgeRefused, kRefused, {{"reason", "full"}});
    prometheus::Counter* refused_origin =
        &in.counter(ops::metric::kEdgeRefused, kRefused, {{"reason", "origin"}});
    core::ByEnum<net::ProxyFault, prometheus::Counter*> refused_proxy_header =
        in.counters<net::ProxyFault>(ops::metric::kEdgeRefused, kRefused, "reason");
    prometheus::Counter* handshake_timeouts =
        &in.counter(ops::metric::kEdgeRefused, kRefused, {{"reason", "handshake_timeout"}});
    prometheus::Counter* accept_pauses =
        &in.counter(ops::metric::kEdgeAcceptPauses,
                    "Times that the edge stopped accepting connections, for want of file "
                    "descriptors or memory.");
};

/// The sockets of one shard: the only place where libwebsockets meets our code. It routes and keeps
/// limits and deadlines, and decides nothing about clients; that is the front's.
///
/// docs/facts/libwebsockets.md is the reason for most of its shape: no time-out of lws works on
/// this loop, the close frame is our own, and there is one write per writeable callback.
///
/// All contexts of a process are constructed before any loop runs (global state in lws), and each
/// is destroyed on its loop's thread after the loop has ended. Everything else: the loop's thread.
class WsServer final : public Sockets {
public:
    /// Throws std::runtime_error: TLS files that do not fit, or no lws event library.
    WsServer(EdgeOptions options, const TicketKeys& ticket_keys, ShardLoop& loop,
             net::Admission& admission, WsServerMetrics metrics,
             std::function<MonitorStatus()> monitor);
    ~WsServer() override;

    /// Before the loop runs; `front` outlives this.
    void serve(ClientEvents& front, net::Descriptor listener);

    void send(Client& client, std::string text) override;
    void ping(Client& client) override;
    void close(Client& client, Closing closing, ClosedBy why) override;
    void set_timer(Client& client, core::Duration after) override;

    /// Takes a connection that another listener accepted, with its descriptor.
    void adopt(int fd, const sockaddr_storage& peer);
    void stop_accepting();
    /// For new connections, instead of the pair in the options.
    void use_tls(std::shared_ptr<const net::TlsContext> tls);
    /// Sockets that are not closed yet.
    std::size_t open() const;

    struct Impl;

private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge
