#include "edge/ws_server.hpp"

#include "core/assert.hpp"
#include "core/logger.hpp"
#include "edge/ws_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include <ev.h>
#include <libwebsockets.h>
#include <openssl/ssl.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <sys/socket.h>
#include <unistd.h>

namespace beckon::edge {

namespace {

using Mode = Connection::Mode;
using std::chrono::milliseconds;

/// LWS_WRITE_CLOSE, which the public header leaves out: 4 (facts/lws.md §4).
constexpr auto kWriteClose = static_cast<lws_write_protocol>(4);
/// After our close frame the peer has this long; Firefox never answers one.
constexpr core::Duration kCloseLinger = milliseconds{200};
/// To get the frame out at all, behind what is queued.
constexpr core::Duration kCloseFlush = milliseconds{2'000};
/// For lws to answer a close frame of the client.
constexpr core::Duration kPeerClose = milliseconds{1'000};
/// A killed connection that still flushes is killed again.
constexpr core::Duration kKillAgain = milliseconds{100};
constexpr std::size_t kCloseReasonMax = 123;
/// lws keeps pongs without payload to itself.
constexpr std::string_view kPingPayload = "b";
/// Room for a piece of a message: 2.4 KB of user memory per idle connection instead of 5.3.
constexpr std::size_t kRxBufferBytes = 1'024;
constexpr unsigned kHttpHeadMax = 16'384;
constexpr std::string_view kSubprotocol = "push-notification";
constexpr std::size_t kSubprotocolNameMax = 63;  // lws: EOF without an answer above these
constexpr std::size_t kSubprotocolListMax = 127;

int on_ws(lws* wsi, lws_callback_reasons reason, void* user, void* in, std::size_t len) noexcept;

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

struct WsServer::Impl {
    Impl(WsServerOptions o, ShardLoop& l, Admission& a, WsServerMetrics m,
         std::function<MonitorStatus()> mon)
        : options(std::move(o)),
          loop(l),
          admission(a),
          metrics(m),
          monitor(std::move(mon)),
          scratch(LWS_PRE + 4'096) {}

    // --- life
    void create();
    void accept(int fd, const sockaddr_storage& peer);
    int created(lws* wsi);
    int destroyed(Connection* c);

    // --- HTTP
    int http(lws* wsi, std::string_view path);
    int confirm_upgrade(Connection& c, std::string_view protocol);
    int reply(lws* wsi, const HttpReply& reply);
    std::optional<HttpReply> choose_subprotocol(lws* wsi);

    // --- WebSocket
    int opened(Connection& c);
    int received(Connection& c, std::string_view piece);
    int writeable(Connection& c);
    int peer_closes(Connection& c);
    int drops(Connection& c);
    int closed(Connection& c);

    bool can_write_now(const Connection& c) const;
    bool write(Connection& c, std::string_view payload, lws_write_protocol kind);
    bool write_close(Connection& c);
    void half_close(Connection& c);
    void close(Connection& c, CloseCode code, std::string_view why_text, ClosedBy why);
    void drop(Connection& c, ClosedBy why);
    void kill(Connection& c);
    static void fire(WheelTimer& timer);

    const WsServerOptions options;
    ShardLoop& loop;
    Admission& admission;
    const WsServerMetrics metrics;
    const std::function<MonitorStatus()> monitor;
    Front* front = nullptr;
    std::unique_ptr<Acceptor> acceptor;

    lws_context* context = nullptr;
    lws_vhost* vhost = nullptr;
    ssl_ctx_st* ssl = nullptr;
    /// The name of protocols[0], which lws looks up in the client's list and echoes: written anew
    /// for each upgrade, so that everybody finds what it offered (facts/lws.md §6).
    std::array<char, kSubprotocolNameMax + 1> protocol_name{};
    std::array<lws_protocols, 2> protocols{};
    Connection* adopting = nullptr;  ///< lws has not told its wsi yet
    int callbacks = 0;               ///< how deep we are inside callbacks of lws
    std::size_t sockets = 0;
    std::vector<unsigned char> scratch;  ///< frame under way, behind room for its header
};

namespace {

int on_ws(lws* wsi, lws_callback_reasons reason, void* user, void* in, std::size_t len) noexcept {
    auto* server = static_cast<WsServer::Impl*>(lws_context_user(lws_get_context(wsi)));
    if (!server) return 0;
    auto* c = static_cast<Connection*>(lws_get_opaque_user_data(wsi));
    const std::string_view text{static_cast<const char*>(in), in ? len : 0};
    ++server->callbacks;
    int result = 0;
    switch (static_cast<int>(reason)) {
        case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
            server->ssl = static_cast<ssl_ctx_st*>(user);
            break;
        case LWS_CALLBACK_WSI_CREATE: result = server->created(wsi); break;
        case LWS_CALLBACK_WSI_DESTROY: result = server->destroyed(c); break;
        case LWS_CALLBACK_HTTP: result = server->http(wsi, text); break;
        case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
            result = c ? server->confirm_upgrade(*c, in ? static_cast<const char*>(in) : "") : -1;
            break;
        case LWS_CALLBACK_ESTABLISHED: result = c ? server->opened(*c) : -1; break;
        case LWS_CALLBACK_RECEIVE: result = c ? server->received(*c, text) : -1; break;
        case LWS_CALLBACK_RECEIVE_PONG:
            if (c && c->mode == Mode::open) server->front->pong(*c);
            break;
        case LWS_CALLBACK_SERVER_WRITEABLE: result = c ? server->writeable(*c) : -1; break;
        case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE: result = c ? server->peer_closes(*c) : -1; break;
        case LWS_CALLBACK_WS_SERVER_DROP_PROTOCOL: result = c ? server->drops(*c) : 0; break;
        case LWS_CALLBACK_CLOSED: result = c ? server->closed(*c) : 0; break;
        default: break;
    }
    --server->callbacks;
    return result;
}

}  // namespace

// --- life

void WsServer::Impl::create() {
    // Its logging has a static buffer, which no two threads may share, and clients can trigger it.
    lws_set_log_level(0, nullptr);
    std::memcpy(protocol_name.data(), kSubprotocol.data(), kSubprotocol.size());
    protocols[0] = {.name = protocol_name.data(),
                    .callback = &on_ws,
                    // lws tells of the end only those that have memory of this kind
                    .per_session_data_size = sizeof(void*),
                    .rx_buffer_size = kRxBufferBytes,
                    .id = 0,
                    .user = nullptr,
                    .tx_packet_size = options.outbox_bytes_max + LWS_PRE};

    static const lws_retry_bo_t no_pings{};  // ours are in the timing wheel
    void* foreign_loop = loop.native();
    lws_context_creation_info info{};
    info.port = CONTEXT_PORT_NO_LISTEN_SERVER;
    info.protocols = protocols.data();
    info.user = this;
    info.options = LWS_SERVER_OPTION_LIBEV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
                   LWS_SERVER_OPTION_VALIDATE_UTF8 | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS;
    info.foreign_loops = &foreign_loop;
    info.retry_and_idle_policy = &no_pings;
    info.max_http_header_data = kHttpHeadMax;
    info.count_threads = 1;
    info.vhost_name = "clients";
    info.alpn = "http/1.1";
    std::string certificate;
    std::string key;
    if (options.tls) {
        if (const auto fits = check(*options.tls); !fits) {
            throw std::runtime_error(fits.error().message);
        }
        certificate = options.tls->certificate;
        key = options.tls->key;
        info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        info.ssl_cert_filepath = certificate.c_str();
        info.ssl_private_key_filepath = key.c_str();
        // Without one of its own each context but the last leaks a client SSL_CTX.
        info.provided_client_ssl_ctx = SSL_CTX_new(TLS_client_method());
    }
    context = lws_create_context(&info);
    if (!context) {
        throw std::runtime_error(
            "libwebsockets cannot start: is its libev plugin there "
            "(Debian: libwebsockets-evlib-ev)?");
    }
    vhost = lws_create_vhost(context, &info);
    if (!vhost || (options.tls && !ssl)) {
        throw std::runtime_error("libwebsockets refused the port's settings");
    }
    if (ssl) {
        harden(ssl);
        auto keys = options.ticket_keys;
        SSL_CTX_set_tlsext_ticket_keys(ssl, keys.data(), keys.size());
    }
}

void WsServer::Impl::accept(int fd, const sockaddr_storage& peer) {
    const PeerKey key = peer_key(peer);
    if (!admission.admit_socket(key)) {
        metrics.refused_full->Increment();
        if (!ssl) {
            const std::string wire = to_wire(full_reply());
            [[maybe_unused]] const auto sent =
                ::send(fd, wire.data(), wire.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        ::close(fd);
        return;
    }
    adopting = new Connection{this, key, &Impl::fire};
    ++sockets;
    metrics.connections->Increment();
    lws_adopt_desc_t info{};
    info.vh = vhost;
    info.type =
        static_cast<lws_adoption_type>(LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP | LWS_ADOPT_ALLOW_SSL);
    info.fd.sockfd = fd;
    info.opaque = adopting;
    lws_adopt_descriptor_vhost_via_info(&info);
    if (adopting) {  // no wsi came into being, so nobody has closed the descriptor
        ::close(fd);
        destroyed(adopting);
    }
}

int WsServer::Impl::created(lws* wsi) {
    if (!adopting) return 0;
    Connection& c = *adopting;
    adopting = nullptr;
    c.wsi = wsi;
    loop.schedule(c, options.handshake_timeout);
    return 0;
}

int WsServer::Impl::destroyed(Connection* c) {
    if (!c) return 0;
    if (c == adopting) adopting = nullptr;
    if (c->established) closed(*c);
    if (c->client_counted) admission.client_gone(c->peer);
    admission.socket_gone(c->peer);
    --sockets;
    metrics.connections->Decrement();
    if (c->wsi) lws_set_opaque_user_data(c->wsi, nullptr);
    delete c;
    return 0;
}

// --- HTTP

int WsServer::Impl::http(lws* wsi, std::string_view path) {
    return reply(wsi, monitor_reply(path, monitor()));
}

/// Writes the answer and lets lws close the connection.
int WsServer::Impl::reply(lws* wsi, const HttpReply& what) {
    const std::string wire = to_wire(what);
    scratch.resize(std::max(scratch.size(), LWS_PRE + wire.size()));
    std::memcpy(scratch.data() + LWS_PRE, wire.data(), wire.size());
    lws_write(wsi, scratch.data() + LWS_PRE, wire.size(), LWS_WRITE_HTTP_FINAL);
    return -1;
}

int WsServer::Impl::confirm_upgrade(Connection& c, std::string_view protocol) {
    if (protocol != "websocket") return -1;  // h2c
    std::array<char, 8> path{};
    const int size = lws_hdr_copy(c.wsi, path.data(), path.size(), WSI_TOKEN_GET_URI);
    if (size != 1 || path[0] != '/') return reply(c.wsi, plain_reply(404));
    if (const auto refusal = choose_subprotocol(c.wsi)) return reply(c.wsi, *refusal);
    if (!admission.admit_client(c.peer)) {
        metrics.refused_full->Increment();
        return reply(c.wsi, full_reply());
    }
    c.client_counted = true;
    return 0;
}

/// Accepts whatever is offered: protocols[0] takes its name.
std::optional<HttpReply> WsServer::Impl::choose_subprotocol(lws* wsi) {
    std::string_view chosen = kSubprotocol;
    std::array<char, kSubprotocolListMax + 1> list{};
    const int total = lws_hdr_total_length(wsi, WSI_TOKEN_PROTOCOL);
    if (total > 0) {
        const int size = lws_hdr_copy(wsi, list.data(), list.size(), WSI_TOKEN_PROTOCOL);
        if (size < 0) return plain_reply(400);
        std::string_view rest{list.data(), static_cast<std::size_t>(size)};
        std::string_view first;
        bool ours = false;
        while (!rest.empty()) {
            const auto comma = rest.find(',');
            const auto name = trim(rest.substr(0, comma));
            if (name.size() > kSubprotocolNameMax) return plain_reply(400);
            if (first.empty()) first = name;
            ours |= name == kSubprotocol;
            rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
        }
        if (first.empty()) return plain_reply(400);
        if (!ours) chosen = first;
    }
    std::memcpy(protocol_name.data(), chosen.data(), chosen.size());
    protocol_name[chosen.size()] = '\0';
    return std::nullopt;
}

// --- WebSocket

int WsServer::Impl::opened(Connection& c) {
    c.mode = Mode::open;
    c.established = true;
    front->opened(c);
    return 0;
}

int WsServer::Impl::received(Connection& c, std::string_view piece) {
    if (c.mode != Mode::open) return 0;
    if (lws_frame_is_binary(c.wsi)) {
        close(c, CloseCode::unsupported, "UnsupportedMessage", ClosedBy::unsupported);
        return 0;
    }
    const std::size_t remaining = lws_remaining_packet_payload(c.wsi);
    if (c.rx.size() + piece.size() + remaining > options.frame_bytes_max) {
        close(c, CloseCode::too_big, "TooBig", ClosedBy::too_big);
        return 0;
    }
    const bool last = lws_is_final_fragment(c.wsi);
    if (remaining == 0 && !last) {
        close(c, CloseCode::unsupported, "UnsupportedMessage", ClosedBy::unsupported);
        return 0;
    }
    if (!last) {
        c.rx.append(piece);
        return 0;
    }
    std::string whole = std::move(c.rx);
    c.rx = {};
    whole.append(piece);
    front->text(c, std::move(whole));
    return 0;
}

int WsServer::Impl::writeable(Connection& c) {
    if (c.mode == Mode::close_sent) {
        if (c.half_close_due) half_close(c);
        return 0;
    }
    if (c.mode != Mode::open && c.mode != Mode::closing) return 0;
    if (!c.out.empty()) {
        if (!write(c, c.out.pop(), LWS_WRITE_TEXT)) return -1;
    } else if (c.mode == Mode::closing) {
        return write_close(c) ? 0 : -1;
    } else if (c.ping_due) {
        c.ping_due = false;
        if (!write(c, kPingPayload, LWS_WRITE_PING)) return -1;
    }
    if (!c.out.empty() || c.ping_due || c.mode == Mode::closing) lws_callback_on_writable(c.wsi);
    return 0;
}

/// lws answers with the same code and reason, then ends the connection.
int WsServer::Impl::peer_closes(Connection& c) {
    if (c.mode == Mode::close_sent) return -1;
    if (c.mode == Mode::open) {
        c.why = ClosedBy::client;
        front->gone(c);
    }
    c.mode = Mode::peer_closing;
    c.out.clear();
    loop.schedule(c, kPeerClose);
    return 0;
}

/// The first that is heard of any end that is not ours: TCP is gone, or lws refused a frame and
/// sends a close frame of its own, whose answer it would await for ever.
int WsServer::Impl::drops(Connection& c) {
    if (c.mode != Mode::open) return 0;
    char byte = 0;
    const auto peeked = recv(lws_get_socket_fd(c.wsi), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
    const bool ended = peeked == 0 || (peeked < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    c.why = ended ? ClosedBy::lost : ClosedBy::protocol;
    c.mode = Mode::peer_closing;
    c.out.clear();
    front->gone(c);
    loop.schedule(c, kCloseLinger);
    return 0;
}

int WsServer::Impl::closed(Connection& c) {
    if (!c.established) return 0;
    c.established = false;
    front->gone(c);
    metrics.closed[static_cast<std::size_t>(c.why)]->Increment();
    return 0;
}

/// Outside lws's callbacks a frame may be written at once, if lws holds no unsent tail: that saves
/// two epoll_ctl and a turn of the loop for each. With a tail the stream would be corrupt.
bool WsServer::Impl::can_write_now(const Connection& c) const {
    return callbacks == 0 && c.out.empty() && !lws_partial_buffered(c.wsi);
}

bool WsServer::Impl::write(Connection& c, std::string_view payload, lws_write_protocol kind) {
    scratch.resize(std::max(scratch.size(), LWS_PRE + payload.size()));
    std::memcpy(scratch.data() + LWS_PRE, payload.data(), payload.size());
    return lws_write(c.wsi, scratch.data() + LWS_PRE, payload.size(), kind) >= 0;
}

bool WsServer::Impl::write_close(Connection& c) {
    std::string payload;
    const auto code = static_cast<unsigned>(c.close_code);
    payload.push_back(static_cast<char>(code >> 8));
    payload.push_back(static_cast<char>(code & 0xff));
    payload += c.close_reason;
    c.mode = Mode::close_sent;
    if (!write(c, payload, kWriteClose)) return false;
    loop.schedule(c, kCloseLinger);
    half_close(c);
    return true;
}

/// Tells the peer that this was all, as soon as the close frame has left.
void WsServer::Impl::half_close(Connection& c) {
    c.half_close_due = lws_partial_buffered(c.wsi);
    if (c.half_close_due) {
        loop.schedule(c, kCloseFlush);
        lws_callback_on_writable(c.wsi);
        return;
    }
    if (SSL* tls = lws_get_ssl(c.wsi)) SSL_shutdown(tls);
    shutdown(lws_get_socket_fd(c.wsi), SHUT_WR);
    loop.schedule(c, kCloseLinger);
}

void WsServer::Impl::close(Connection& c, CloseCode code, std::string_view why_text, ClosedBy why) {
    if (c.mode != Mode::open) return;
    c.why = why;
    c.close_code = code;
    c.close_reason = why_text.substr(0, kCloseReasonMax);
    c.rx = {};
    c.mode = Mode::closing;
    front->gone(c);
    loop.schedule(c, kCloseFlush);
    if (can_write_now(c)) {
        if (!write_close(c)) drop(c, why);
        return;
    }
    lws_callback_on_writable(c.wsi);
}

/// Without a frame: the peer does not read, or cannot be written to.
void WsServer::Impl::drop(Connection& c, ClosedBy why) {
    c.why = why;
    c.mode = Mode::dropping;
    c.out.clear();
    const linger reset{.l_onoff = 1, .l_linger = 0};
    setsockopt(lws_get_socket_fd(c.wsi), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    loop.schedule(c, core::Duration::zero());  // never within a call from the front
}

void WsServer::Impl::kill(Connection& c) {
    // lws may want to flush first; then it does not end here. If it does, `c` is gone.
    loop.schedule(c, kKillAgain);
    shutdown(lws_get_socket_fd(c.wsi), SHUT_RDWR);
    lws_set_timeout(c.wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_SYNC);
}

void WsServer::Impl::fire(WheelTimer& timer) {
    auto& c = static_cast<Connection&>(timer);
    auto& self = *static_cast<Impl*>(c.server);
    switch (c.mode) {
        case Mode::open: self.front->timer(c); return;
        case Mode::handshake: self.metrics.handshake_timeouts->Increment(); break;
        case Mode::closing:
        case Mode::close_sent:
        case Mode::peer_closing:
        case Mode::dropping: break;
    }
    self.kill(c);
}

// --- the public door

WsServer::WsServer(WsServerOptions options, ShardLoop& loop, Admission& admission,
                   WsServerMetrics metrics, std::function<MonitorStatus()> monitor)
    : impl_(std::make_unique<Impl>(std::move(options), loop, admission, metrics,
                                   std::move(monitor))) {
    impl_->create();
}

WsServer::~WsServer() {
    impl_->acceptor.reset();
    if (!impl_->context) return;
    lws_context_destroy(impl_->context);
    ev_run(impl_->loop.native(), EVRUN_NOWAIT);
}

void WsServer::serve(Front& front, Descriptor listener) {
    impl_->front = &front;
    impl_->acceptor = std::make_unique<Acceptor>(
        impl_->loop, std::move(listener),
        [this](int fd, const sockaddr_storage& peer) { impl_->accept(fd, peer); },
        [this] { impl_->metrics.accept_pauses->Increment(); });
}

void WsServer::adopt(int fd, const sockaddr_storage& peer) { impl_->accept(fd, peer); }
void WsServer::stop_accepting() { impl_->acceptor.reset(); }
std::size_t WsServer::open() const { return impl_->sockets; }

void WsServer::send(Client& client, std::string text) {
    auto& c = static_cast<Connection&>(client);
    if (c.mode != Mode::open || text.empty()) return;
    if (impl_->can_write_now(c)) {
        if (!impl_->write(c, text, LWS_WRITE_TEXT)) impl_->drop(c, ClosedBy::lost);
        return;
    }
    if (c.out.bytes() + text.size() > impl_->options.outbox_bytes_max) {
        impl_->drop(c, ClosedBy::slow);
        return;
    }
    c.out.push(std::move(text));
    lws_callback_on_writable(c.wsi);
}

void WsServer::ping(Client& client) {
    auto& c = static_cast<Connection&>(client);
    if (c.mode != Mode::open) return;
    c.ping_due = true;
    lws_callback_on_writable(c.wsi);
}

void WsServer::close(Client& client, CloseCode code, std::string_view reason, ClosedBy why) {
    impl_->close(static_cast<Connection&>(client), code, reason, why);
}

void WsServer::set_timer(Client& client, core::Duration after) {
    impl_->loop.schedule(static_cast<Connection&>(client), after);
}

void WsServer::reload_tls() {
    if (!impl_->ssl) return;
    const auto done = apply(impl_->ssl, *impl_->options.tls);
    if (!done) core::log_error("edge", "tls_reload_failed", {{"why", done.error().message}});
}

}  // namespace beckon::edge
