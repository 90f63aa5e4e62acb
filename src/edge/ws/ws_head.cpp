#include "core/contain.hpp"
#include "edge/ws/ws_server_impl.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include <openssl/err.h>
#include <sys/socket.h>

namespace beckon::edge {

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
    SSL* tls = lws_get_ssl(c.wsi);
    if (tls && !SSL_is_init_finished(tls)) return;
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

/// lws reads no more of this connection, which ends as after each of its own answers. What comes
/// meanwhile is read, or the kernel would reset the connection before the answer has arrived.
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
