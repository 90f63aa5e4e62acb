#pragma once

#include "core/handle.hpp"
#include "edge/ws/handshake.hpp"
#include "edge/ws/proxy_intake.hpp"
#include "edge/ws/ws_connection.hpp"
#include "edge/ws/ws_server.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <libwebsockets.h>
#include <openssl/ssl.h>

namespace beckon::edge {

/// The library reads about so much at once. An idle connection has 2.4 KB of user memory with it
/// instead of 5.3.
inline constexpr std::size_t kReadBytes = 1'024;

/// The inside of a WsServer, over three files: ws_server.cpp (life, routing of lws's
/// callbacks), ws_upgrade.cpp (heads before lws reads them, HTTP until the upgrade), ws_stream.cpp
/// (frames, closes, deadlines, whose frames are served when).
struct WsServer::Impl {
    Impl(EdgeOptions o, const TicketKeys& keys, ShardLoop& l, net::Admission& a, WsServerMetrics m,
         std::function<MonitorStatus()> mon)
        : options(std::move(o)),
          tls(tls_files(options)),
          proxies(options.trusted_proxies),
          ticket_keys(keys),
          loop(l),
          admission(a),
          metrics(m),
          monitor(std::move(mon)),
          held(options.held_bytes_max),
          scratch(LWS_PRE + 4'096) {}

    // --- life
    void create();
    void accept(int fd, const sockaddr_storage& peer);
    void introduced(net::Descriptor socket, const net::Peer& proxy,
                    const ProxyIntake::Header& header);
    void serve(net::Descriptor socket, const net::Peer& peer);
    void turn_away(const net::Descriptor& socket);
    void socket_gone(const net::Peer& peer);
    int created(lws* wsi);
    int destroyed(Connection* c);

    // --- before lws reads
    void watch_head(Connection& c);
    void head_readable(Connection& c);
    void await_more(Connection& c, std::size_t have);
    void let_library_read(Connection& c);
    void answer_without_library(Connection& c, const HttpAnswer& answer);
    void discard(Connection& c);

    // --- HTTP
    std::optional<HttpAnswer> judge(Connection& c, std::string_view head);
    int http(Connection& c);
    int confirm_upgrade(Connection& c);
    bool admit(Connection& c);
    int reply(lws* wsi, const HttpAnswer& answer);

    // --- fairness between clients
    void readable(Connection& c);
    bool count(Connection& c, std::size_t frames);
    void defer(Connection& c);
    void end_deferral(Connection& c);
    void read_now(Connection& c);
    bool serve_some_deferred();
    void note_read(Connection& c, std::size_t payload);
    void forget_more(Connection& c);
    void read_on();

    // --- WebSocket
    int opened(Connection& c);
    int received(Connection& c, std::string_view piece);
    int keep_piece(Connection& c, std::string_view piece);
    void drop_pieces(Connection& c);
    void clear(Connection& c);
    void account(Connection& c);
    void end_excess();
    int writeable(Connection& c);
    int peer_closes(Connection& c);
    int drops(Connection& c);
    int closed(Connection& c);
    int failed(Connection& c);

    bool can_write_now(const Connection& c) const;
    bool write(Connection& c, std::string_view payload, lws_write_protocol kind);
    bool write_close(Connection& c);
    void half_close(Connection& c);
    void close(Connection& c, Closing closing, ClosedBy why);
    void drop(Connection& c, ClosedBy why);
    void kill(Connection& c);
    static void fire(WheelTimer& timer);

    const EdgeOptions options;
    const std::optional<net::TlsFiles> tls;
    const net::TrustedProxies proxies;
    const TicketKeys ticket_keys;
    ShardLoop& loop;
    net::Admission& admission;
    const WsServerMetrics metrics;
    const std::function<MonitorStatus()> monitor;
    ClientEvents* front = nullptr;
    std::unique_ptr<Acceptor> acceptor;
    std::unique_ptr<ProxyIntake> intake;  ///< null: no proxy sends PROXY headers
    core::MonoTime proxy_fault_logged{};  ///< in a log line

    core::Handle<SSL_CTX, SSL_CTX_free> client_ssl;
    lws_context* context = nullptr;
    lws_vhost* vhost = nullptr;
    ssl_ctx_st* ssl = nullptr;
    std::shared_ptr<const net::TlsContext> reloaded_tls;  ///< null: the pair of `tls`
    /// The name of protocols[0], which lws looks up in the client's list and echoes: written anew
    /// for each upgrade, so that each client finds the name that it offered
    /// (docs/facts/libwebsockets.md#subprotocols).
    std::array<char, kSubprotocolNameMax + 1> protocol_name{};
    std::array<lws_protocols, 2> protocols{};
    Connection* adopting = nullptr;  ///< lws has not given its wsi yet
    int callbacks = 0;               ///< how deep we are inside callbacks of lws
    std::size_t sockets = 0;
    CutWatch cuts;
    std::list<Connection*> deferred;   ///< that are not read until their turn, in that order
    std::list<Connection*> with_more;  ///< whose last read left bytes in the socket
    HeldMemory held;
    std::vector<unsigned char> scratch;  ///< frame under way, behind space for its header
};

}  // namespace beckon::edge
