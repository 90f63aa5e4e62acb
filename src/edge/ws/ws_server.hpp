#pragma once

#include "core/clock.hpp"
#include "edge/front/sockets.hpp"
#include "edge/loop/acceptor.hpp"
#include "edge/loop/shard_loop.hpp"
#include "edge/ws/monitor_routes.hpp"
#include "net/connection_limiter.hpp"
#include "net/descriptor.hpp"
#include "net/peer_address.hpp"
#include "net/proxy_header.hpp"
#include "net/tls.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
}  // namespace prometheus

namespace beckon::edge {

struct WsServerOptions {
    static constexpr std::size_t kPathMax = 127;
    /// Several windows of the largest notifications: only a client that does not read has as much.
    static constexpr std::size_t kOutboxBytesMax = 1U << 20;

    /// Where a WebSocket is opened; at most kPathMax bytes.
    std::string path = "/";
    std::size_t frame_bytes_max = 65'536;
    /// Memory of the frames that wait for one client; more and it is dropped as slow.
    std::size_t outbox_bytes_max = kOutboxBytesMax;
    /// A message that comes in pieces is complete after so long, or the client is closed.
    core::Duration frame_timeout = std::chrono::seconds{15};
    /// Memory that all clients of the shard hold (HeldMemory).
    std::size_t held_bytes_max = 32U << 20;
    /// Sockets that lws takes at one time; 0: as many as the process may open.
    unsigned sockets_max = 0;
    /// Frames, pings and pongs that one client may send over ten seconds, a second's worth
    /// (FrameAllowance); each notification that it gets allows one more, for its ack. 0: no limit.
    std::size_t frames_per_second_max = 0;
    /// Web pages that may connect, by their Origin; empty: all. Clients without an Origin always
    /// may.
    std::vector<std::string> allowed_origins;
    /// From accept to the end of the upgrade: TLS, a dripping head, a silent connection.
    core::Duration handshake_timeout = std::chrono::seconds{5};
    std::optional<net::TlsFiles> tls;
    /// The proxies whose forwarding headers name the client; never null.
    std::shared_ptr<const net::TrustedProxies> proxies = std::make_shared<net::TrustedProxies>();
    /// Their connections begin with a PROXY header, which names the client; other connections do
    /// not.
    bool proxy_protocol = false;
    /// Session tickets of one shard are good on the others if all have the same keys.
    std::array<unsigned char, 80> ticket_keys{};
};

struct WsServerMetrics {
    core::ByEnum<ClosedBy, prometheus::Counter*> closed{};
    prometheus::Gauge* connections = nullptr;  ///< sockets, clients or not
    prometheus::Counter* refused_full = nullptr;
    prometheus::Counter* refused_origin = nullptr;
    core::ByEnum<net::ProxyFault, prometheus::Counter*> refused_proxy_header{};
    prometheus::Counter* handshake_timeouts = nullptr;
    prometheus::Counter* accept_pauses = nullptr;
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
    WsServer(WsServerOptions options, ShardLoop& loop, net::Admission& admission,
             WsServerMetrics metrics, std::function<MonitorStatus()> monitor);
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
