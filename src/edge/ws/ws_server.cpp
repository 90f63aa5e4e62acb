#include "edge/ws/ws_server.hpp"

#include "core/contain.hpp"
#include "core/logger.hpp"
#include "core/setup_error.hpp"
#include "edge/protocol/frames.hpp"
#include "edge/ws/ws_server_impl.hpp"

#include <cstring>
#include <stdexcept>

#include <ev.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <sys/socket.h>
#include <unistd.h>

namespace beckon::edge {

namespace {

using Mode = Connection::Mode;

/// The library's own time-outs, of 10 s and 20 s otherwise, come so much after ours, which are
/// named.
constexpr core::Duration kLibraryLater = std::chrono::seconds{20};
/// A proxy that is set up wrongly sends every client so.
constexpr core::Duration kLogProxyFaultEvery = std::chrono::minutes{1};

/// 0 ends the handshake.
int give_reloaded_pair(SSL* connection, void* server) noexcept {
    return static_cast<WsServer::Impl*>(server)->reloaded_tls->give_pair(connection) ? 1 : 0;
}

int on_ws(lws* wsi, lws_callback_reasons reason, void* user, void* in, std::size_t len) noexcept {
    auto* server = static_cast<WsServer::Impl*>(lws_context_user(lws_get_context(wsi)));
    if (!server) return 0;
    auto* c = static_cast<Connection*>(lws_get_opaque_user_data(wsi));
    const std::string_view text{static_cast<const char*>(in), in ? len : 0};
    ++server->callbacks;
    int result = 0;
    const bool served = core::contain(server->loop.name(), [&] {
        switch (static_cast<int>(reason)) {
            case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
                server->ssl = static_cast<ssl_ctx_st*>(user);
                break;
            case LWS_CALLBACK_WSI_CREATE: result = server->created(wsi); break;
            case LWS_CALLBACK_WSI_DESTROY: result = server->destroyed(c); break;
            case LWS_CALLBACK_HTTP: result = c ? server->http(*c) : -1; break;
            case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
                result = c ? server->confirm_upgrade(*c) : -1;
                break;
            case LWS_CALLBACK_ESTABLISHED: result = c ? server->opened(*c) : -1; break;
            case LWS_CALLBACK_RECEIVE: result = c ? server->received(*c, text) : -1; break;
            case LWS_CALLBACK_RECEIVE_PONG:
                if (c && c->mode == Mode::open) server->front->pong(*c);
                break;
            case LWS_CALLBACK_SERVER_WRITEABLE: result = c ? server->writeable(*c) : -1; break;
            case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
                result = c ? server->peer_closes(*c) : -1;
                break;
            case LWS_CALLBACK_WS_SERVER_DROP_PROTOCOL: result = c ? server->drops(*c) : 0; break;
            case LWS_CALLBACK_CLOSED: result = c ? server->closed(*c) : 0; break;
            default: break;
        }
    });
    if (!served && c) result = server->failed(*c);
    --server->callbacks;
    return result;
}

}  // namespace

std::optional<net::TlsFiles> tls_files(const EdgeOptions& options) {
    const auto& [certificate, key] = std::tie(options.tls_certificate, options.tls_key);
    if (certificate && key) return net::TlsFiles{.certificate = *certificate, .key = *key};
    if (!certificate && !key) return std::nullopt;
    throw std::runtime_error("TLS on the edge needs both a certificate and a key");
}

Connection::Connection(void* s, const net::Peer& p, Fire fire)
    : WheelTimer(fire), server(s), peer(p) {}
Connection::~Connection() = default;

void WsServer::Impl::create() {
    // Its logging has a static buffer, which no two threads may share, and clients can trigger it.
    lws_set_log_level(0, nullptr);
    std::memcpy(protocol_name.data(), kSubprotocol.data(), kSubprotocol.size());
    protocols[0] = {.name = protocol_name.data(),
                    .callback = &on_ws,
                    // lws reports the end only of those that have memory of this kind
                    .per_session_data_size = sizeof(void*),
                    .rx_buffer_size = kReadBytes,
                    .id = 0,
                    .user = nullptr,
                    .tx_packet_size = options.unsent_bytes_max + LWS_PRE};

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
    const auto later =
        std::chrono::ceil<std::chrono::seconds>(options.hello_timeout + kLibraryLater);
    info.timeout_secs = static_cast<unsigned>(later.count());
    info.timeout_secs_ah_idle = static_cast<unsigned>(later.count());
    info.count_threads = 1;
    info.fd_limit_per_thread = options.sockets_max;
    info.vhost_name = "clients";
    info.alpn = "http/1.1";
    std::string certificate;
    std::string key;
    if (tls) {
        if (const auto fits = net::check(*tls); !fits) {
            throw std::runtime_error(fits.error().message);
        }
        certificate = tls->certificate;
        key = tls->key;
        info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        info.ssl_cert_filepath = certificate.c_str();
        info.ssl_private_key_filepath = key.c_str();
        // Without one that is given each context but the last leaks a client SSL_CTX.
        client_ssl.reset(SSL_CTX_new(TLS_client_method()));
        info.provided_client_ssl_ctx = client_ssl.get();
    }
    context = lws_create_context(&info);
    if (!context) {
        throw core::SetupError(
            "libwebsockets cannot start: is its libev plugin there "
            "(Debian: libwebsockets-evlib-ev)?");
    }
    vhost = lws_create_vhost(context, &info);
    if (!vhost || (tls && !ssl)) {
        throw std::runtime_error("libwebsockets refused the port's settings");
    }
    if (ssl) {
        net::harden(ssl);
        auto keys = ticket_keys;
        SSL_CTX_set_tlsext_ticket_keys(ssl, keys.data(), keys.size());
    }
}

void WsServer::Impl::accept(int fd, const sockaddr_storage& address) {
    net::Descriptor socket{fd};
    net::Peer peer{net::address_of(address)};
    peer.exempt = proxies.contains(peer.address);
    if (!admission.admit_socket(peer)) return turn_away(socket);
    ++sockets;
    metrics.connections->Increment();
    if (intake && peer.exempt) return intake->take(std::move(socket), peer);
    serve(std::move(socket), peer);
}

void WsServer::Impl::turn_away(const net::Descriptor& socket) {
    metrics.refused_full->Increment();
    if (ssl) return;
    const std::string wire = to_wire({full_reply()});
    ::send(socket.get(), wire.data(), wire.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void WsServer::Impl::socket_gone(const net::Peer& peer) {
    admission.socket_gone(peer);
    --sockets;
    metrics.connections->Decrement();
}

/// A proxy's PROXY header has come, or will not. One that names no client speaks for itself.
void WsServer::Impl::introduced(net::Descriptor socket, const net::Peer& proxy,
                                const ProxyIntake::Header& header) {
    if (!header) {
        metrics.refused_proxy_header[header.error()]->Increment();
        if (loop.now() >= proxy_fault_logged + kLogProxyFaultEvery) {
            proxy_fault_logged = loop.now();
            core::log_warn("edge", "proxy_header_refused",
                           {{"proxy", net::to_string(proxy.address)},
                            {"why", net::to_string(header.error())},
                            {"remedy", "let the proxy send it, or turn edge.proxy_protocol off"}});
        }
        return socket_gone(proxy);
    }
    if (!*header) return serve(std::move(socket), proxy);
    const net::Peer client{**header, proxies.contains(**header)};
    if (admission.rename_socket(proxy, client)) return serve(std::move(socket), client);
    turn_away(socket);
    socket_gone(proxy);
}

void WsServer::Impl::serve(net::Descriptor socket, const net::Peer& peer) {
    try {
        adopting = new Connection{this, peer, &Impl::fire};
    } catch (...) {
        socket_gone(peer);
        throw;
    }
    lws_adopt_desc_t info{};
    info.vh = vhost;
    info.type =
        static_cast<lws_adoption_type>(LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP | LWS_ADOPT_ALLOW_SSL);
    info.fd.sockfd = socket.release();
    info.opaque = adopting;
    lws* wsi = lws_adopt_descriptor_vhost_via_info(&info);
    auto* c = wsi ? static_cast<Connection*>(lws_get_opaque_user_data(wsi)) : nullptr;
    if (c) watch_head(*c);
    if (adopting) destroyed(adopting);  // lws takes no more, and has closed the descriptor
}

int WsServer::Impl::created(lws* wsi) {
    if (!adopting) return 0;
    Connection& c = *adopting;
    adopting = nullptr;
    c.wsi = wsi;
    loop.schedule(c, options.hello_timeout);
    return 0;
}

int WsServer::Impl::destroyed(Connection* c) {
    if (!c) return 0;
    c->reads.reset();
    end_deferral(*c);
    forget_more(*c);
    if (c == adopting) adopting = nullptr;
    // `c` ends here even if a call throws: its timer must not find the library's memory gone.
    if (c->established) core::contain(loop.name(), [&] { closed(*c); });
    clear(*c);
    if (c->client_counted) admission.client_gone(c->peer);
    if (c->socket_counted) admission.socket_gone(c->peer);
    --sockets;
    metrics.connections->Decrement();
    if (c->wsi) lws_set_opaque_user_data(c->wsi, nullptr);
    delete c;
    return 0;
}

// --- calls of the fronts

WsServer::WsServer(EdgeOptions options, const TicketKeys& ticket_keys, ShardLoop& loop,
                   net::Admission& admission, WsServerMetrics metrics,
                   std::function<MonitorStatus()> monitor)
    : impl_(std::make_unique<Impl>(std::move(options), ticket_keys, loop, admission, metrics,
                                   std::move(monitor))) {
    impl_->create();
    loop.at_turn_end([impl = impl_.get()] {
        impl->read_on();
        const bool more = impl->serve_some_deferred();
        return more || !impl->with_more.empty();
    });
}

WsServer::~WsServer() {
    impl_->acceptor.reset();
    impl_->intake.reset();
    if (!impl_->context) return;
    lws_context_destroy(impl_->context);
    ev_run(impl_->loop.native(), EVRUN_NOWAIT);
}

void WsServer::serve(ClientEvents& front, net::Descriptor listener) {
    impl_->front = &front;
    if (impl_->options.proxy_protocol) {
        impl_->intake =
            std::make_unique<ProxyIntake>(impl_->loop, impl_->options.hello_timeout,
                                          [this](net::Descriptor socket, const net::Peer& proxy,
                                                 const ProxyIntake::Header& header) {
                                              impl_->introduced(std::move(socket), proxy, header);
                                          });
    }
    impl_->acceptor = std::make_unique<Acceptor>(
        impl_->loop, std::move(listener), net::no_room,
        [this](int fd, const sockaddr_storage& peer) { impl_->accept(fd, peer); },
        [this] { impl_->metrics.accept_pauses->Increment(); });
}

void WsServer::adopt(int fd, const sockaddr_storage& peer) { impl_->accept(fd, peer); }
void WsServer::stop_accepting() {
    impl_->acceptor.reset();
    if (impl_->intake) impl_->intake->close_all();
}
std::size_t WsServer::open() const { return impl_->sockets; }

void WsServer::send(Client& client, std::string text) {
    auto& c = static_cast<Connection&>(client);
    if (c.mode != Mode::open || text.empty()) return;
    if (is_notification_frame(text)) {
        c.frames.await_answer();
        c.prompt_frames.await_answer();
    }
    if (impl_->can_write_now(c)) {
        if (!impl_->write(c, text, LWS_WRITE_TEXT)) impl_->drop(c, ClosedBy::lost);
        return impl_->end_excess();
    }
    if (c.out.bytes() + SendQueue::cost(text) > impl_->options.unsent_bytes_max) {
        impl_->drop(c, ClosedBy::slow);
        return;
    }
    c.out.push(std::move(text));
    impl_->account(c);
    lws_callback_on_writable(c.wsi);
    impl_->end_excess();
}

void WsServer::ping(Client& client) {
    auto& c = static_cast<Connection&>(client);
    if (c.mode != Mode::open) return;
    c.ping_due = true;
    lws_callback_on_writable(c.wsi);
}

void WsServer::close(Client& client, Closing closing, ClosedBy why) {
    impl_->close(static_cast<Connection&>(client), closing, why);
}

void WsServer::set_timer(Client& client, core::Duration after) {
    impl_->loop.schedule(static_cast<Connection&>(client), after);
}

void WsServer::use_tls(std::shared_ptr<const net::TlsContext> tls) {
    if (!impl_->ssl) return;
    impl_->reloaded_tls = std::move(tls);
    SSL_CTX_set_cert_cb(impl_->ssl, give_reloaded_pair, impl_.get());
}

}  // namespace beckon::edge
