#include "core/contain.hpp"
#include "edge/ws/ws_server_impl.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include <openssl/err.h>
#include <prometheus/counter.h>
#include <sys/socket.h>

namespace beckon::edge {

namespace {

/// No real value is longer; a longer one counts as absent.
constexpr std::size_t kValueMax = 512;

struct Line {
    lws_token_indexes token;
    std::string_view name;
};
/// The headers on which an answer depends.
constexpr Line kLines[]{
    {WSI_TOKEN_HOST, "Host"},
    {WSI_TOKEN_UPGRADE, "Upgrade"},
    {WSI_TOKEN_CONNECTION, "Connection"},
    {WSI_TOKEN_KEY, "Sec-WebSocket-Key"},
    {WSI_TOKEN_VERSION, "Sec-WebSocket-Version"},
    {WSI_TOKEN_PROTOCOL, "Sec-WebSocket-Protocol"},
    {WSI_TOKEN_EXTENSIONS, "Sec-WebSocket-Extensions"},
    {WSI_TOKEN_ORIGIN, "Origin"},
    {WSI_TOKEN_X_FORWARDED_FOR, "X-Forwarded-For"},
    {WSI_TOKEN_HTTP_TRANSFER_ENCODING, "Transfer-Encoding"},
    {WSI_TOKEN_HTTP_CONTENT_LENGTH, "Content-Length"},
};

void append_line(std::string& head, std::string_view name, std::string value, int size) {
    if (size < 0) return;
    value.resize(static_cast<std::size_t>(size));
    head.append(name).append(": ").append(value).append("\r\n");
}

/// The head of a request that lws has read, as far as lws has kept it.
std::string head_of(lws* wsi) {
    constexpr std::string_view kMethods[]{"GET",   "POST",   "OPTIONS", "PUT",
                                          "PATCH", "DELETE", "CONNECT", "HEAD"};
    char* target = nullptr;
    int size = 0;
    const int method = lws_http_get_uri_and_method(wsi, &target, &size);
    if (method < 0 || static_cast<std::size_t>(method) >= std::size(kMethods)) return {};
    std::string head{kMethods[method]};
    head.append(" ").append(target, static_cast<std::size_t>(size)).append(" HTTP/1.1\r\n");
    std::string value(kValueMax, '\0');
    const auto most = static_cast<int>(value.size());
    for (const auto& [token, name] : kLines) {
        for (int i = 0; lws_hdr_fragment_length(wsi, token, i) > 0; ++i) {
            append_line(head, name, value,
                        lws_hdr_copy_fragment(wsi, value.data(), most, token, i));
        }
    }
    constexpr std::string_view kForwarded = "forwarded:";
    append_line(head, "Forwarded", value,
                lws_hdr_custom_copy(wsi, value.data(), most, kForwarded.data(),
                                    static_cast<int>(kForwarded.size())));
    return head + "\r\n";
}

}  // namespace

/// Nothing: it is a handshake, and the connection has it.
std::optional<HttpAnswer> WsServer::Impl::judge(Connection& c, std::string_view head) {
    auto judged = judge_head(
        head,
        {.path = options.path, .allowed_origins = options.allowed_origins, .monitor = monitor});
    if (judged) {
        c.handshake = std::make_unique<Handshake>(std::move(*judged));
        return std::nullopt;
    }
    if (judged.error().reply.status == 403) metrics.refused_origin->Increment();
    return judged.error();
}

/// The head came in several TLS records: lws has read it, and found no upgrade.
int WsServer::Impl::http(Connection& c) {
    return reply(c.wsi, judge(c, head_of(c.wsi)).value_or(HttpAnswer{plain_reply(400)}));
}

int WsServer::Impl::confirm_upgrade(Connection& c) {
    if (!c.handshake) {  // the same
        if (const auto answer = judge(c, head_of(c.wsi))) return reply(c.wsi, *answer);
    }
    const auto& name = c.handshake->subprotocol;
    std::memcpy(protocol_name.data(), name.data(), name.size());
    protocol_name[name.size()] = '\0';
    if (admit(c)) return 0;
    metrics.refused_full->Increment();
    return reply(c.wsi, {full_reply()});
}

/// Writes the answer and lets lws close the connection.
int WsServer::Impl::reply(lws* wsi, const HttpAnswer& answer) {
    const std::string wire = to_wire(answer);
    scratch.resize(std::max(scratch.size(), LWS_PRE + wire.size()));
    std::memcpy(scratch.data() + LWS_PRE, wire.data(), wire.size());
    lws_write(wsi, scratch.data() + LWS_PRE, wire.size(), LWS_WRITE_HTTP_FINAL);
    return -1;
}

/// Counts the client. From here on a connection of a trusted proxy counts as that of the address
/// which the proxy names.
bool WsServer::Impl::admit(Connection& c) {
    if (c.peer.exempt) {
        const auto client =
            proxies.client_of(c.peer.address, c.handshake->forwarded, c.handshake->x_forwarded_for);
        admission.socket_gone(c.peer);
        c.peer = {.address = client, .exempt = proxies.contains(client)};
        c.socket_counted = admission.admit_socket(c.peer);
        if (!c.socket_counted) return false;
    }
    c.client_counted = admission.admit_client(c.peer);
    return c.client_counted;
}

namespace {

/// Of input behind a request that was answered; more and the peer gets a reset.
constexpr std::size_t kDiscardMax = 1U << 20;

/// At most `most` bytes that have come, which stay to be read; with TLS those of one record.
/// nullopt: the connection ended or failed.
std::optional<std::string> peek(lws* wsi, std::size_t most) {
    std::string bytes(most, '\0');
    std::size_t size = 0;
    if (SSL* tls = lws_get_ssl(wsi)) {
        const int got = SSL_peek(tls, bytes.data(), static_cast<int>(most));
        const bool waits = got <= 0 && SSL_get_error(tls, got) == SSL_ERROR_WANT_READ;
        ERR_clear_error();  // lws asks the same queue
        if (got <= 0 && !waits) return std::nullopt;
        size = got > 0 ? static_cast<std::size_t>(got) : 0;
    } else {
        const auto got = recv(lws_get_socket_fd(wsi), bytes.data(), most, MSG_PEEK | MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)) return std::nullopt;
        size = got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    bytes.resize(size);
    return bytes;
}

void set_least_readable(lws* wsi, std::size_t bytes) {
    const int least = static_cast<int>(bytes);
    setsockopt(lws_get_socket_fd(wsi), SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

}  // namespace

void WsServer::Impl::watch_head(Connection& c) {
    c.reads = std::make_unique<ReadWatch>(loop.native(), lws_get_socket_fd(c.wsi), [this, &c] {
        if (c.head_passed) return readable(c);
        if (c.mode == Connection::Mode::dropping) return discard(c);
        if (!core::contain(loop.name(), [&] { head_readable(c); })) kill(c);
    });
}

void WsServer::Impl::head_readable(Connection& c) {
    SSL* session = lws_get_ssl(c.wsi);
    if (session && !SSL_is_init_finished(session)) return;
    const auto bytes = peek(c.wsi, kHttpHeadMax);
    if (!bytes) return let_library_read(c);
    if (bytes->empty()) return;
    const auto size = size_of_head(*bytes);
    if (!size) return await_more(c, bytes->size());
    const auto answer = judge(c, std::string_view{*bytes}.substr(0, *size));
    answer ? answer_without_library(c, *answer) : let_library_read(c);
}

/// The bytes wait in the kernel, and the connection's deadline goes on. One TLS record can be
/// looked at, not two: there lws reads on, as at the end of the connection, which shows when no
/// byte more has come.
void WsServer::Impl::await_more(Connection& c, std::size_t have) {
    if (have == kHttpHeadMax) return answer_without_library(c, {header_too_large_reply()});
    if (lws_get_ssl(c.wsi) || have == c.reads->seen) return let_library_read(c);
    if (c.reads->seen == 0) lws_rx_flow_control(c.wsi, 0);
    c.reads->seen = have;
    set_least_readable(c.wsi, have + 1);
}

void WsServer::Impl::let_library_read(Connection& c) {
    if (c.reads->seen > 0) {
        set_least_readable(c.wsi, 1);
        lws_rx_flow_control(c.wsi, 1);
    }
    c.head_passed = true;
}

/// lws reads no more of this connection, which ends as after each of its own answers. Bytes
/// that come meanwhile are read, or the kernel would reset the connection before the answer
/// arrives.
void WsServer::Impl::answer_without_library(Connection& c, const HttpAnswer& answer) {
    if (c.reads->seen == 0) lws_rx_flow_control(c.wsi, 0);
    set_least_readable(c.wsi, 1);
    c.mode = Connection::Mode::dropping;
    reply(c.wsi, answer);
    half_close(c);
    discard(c);
}

void WsServer::Impl::discard(Connection& c) {
    scratch.resize(std::max(scratch.size(), kHttpHeadMax));
    const auto got = recv(lws_get_socket_fd(c.wsi), scratch.data(), scratch.size(), MSG_DONTWAIT);
    c.discarded += got > 0 ? static_cast<std::size_t>(got) : 0;
    const bool ended = got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    if (!ended && c.discarded <= kDiscardMax) return;
    c.reads->pause();
    if (!c.half_close_due) loop.schedule(c, core::Duration::zero());
}

}  // namespace beckon::edge
