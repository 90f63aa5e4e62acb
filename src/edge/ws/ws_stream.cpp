#include "core/contain.hpp"
#include "core/logger.hpp"
#include "edge/ws/ws_server_impl.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include <poll.h>
#include <prometheus/counter.h>
#include <sys/socket.h>

namespace beckon::edge {

namespace {

using Mode = Connection::Mode;
using std::chrono::milliseconds;

/// LWS_WRITE_CLOSE, which the public header leaves out: 4 (docs/facts/libwebsockets.md#closing).
constexpr auto kWriteClose = static_cast<lws_write_protocol>(4);
/// After our close frame the peer has this long; Firefox never answers one.
constexpr core::Duration kCloseLinger = milliseconds{200};
/// The time to get the close frame out, behind the queued frames.
constexpr core::Duration kCloseFlush = milliseconds{2'000};
/// For lws to answer a close frame of the client.
constexpr core::Duration kPeerClose = milliseconds{1'000};
/// A killed connection that still flushes is killed again.
constexpr core::Duration kKillAgain = milliseconds{100};
constexpr std::size_t kCloseReasonMax = 123;
/// lws keeps pongs without payload to itself.
constexpr std::string_view kPingPayload = "b";

}  // namespace

int WsServer::Impl::opened(Connection& c) {
    c.mode = Mode::open;
    c.handshake.reset();
    c.established = true;
    c.opened = loop.now();
    front->opened(c);
    return 0;
}

int WsServer::Impl::received(Connection& c, std::string_view piece) {
    if (c.mode != Mode::open) return 0;
    if (lws_frame_is_binary(c.wsi)) {
        close(c, closing::kUnsupported, ClosedBy::unsupported);
        return 0;
    }
    const std::size_t remaining = lws_remaining_packet_payload(c.wsi);
    const std::size_t before = c.half ? c.half->text.size() : 0;
    if (before + piece.size() + remaining > options.frame_bytes_max) {
        close(c, closing::kTooBig, ClosedBy::too_big);
        return 0;
    }
    if (!lws_is_final_fragment(c.wsi)) return keep_piece(c, piece);
    std::string whole;
    if (c.half) {
        whole = c.half->text;
        whole.append(piece);
        piece = whole;
    }
    drop_pieces(c);
    if (!count(c, c.read_count.whole(FrameAllowance::count_of(piece.size())))) return 0;
    note_read(c, piece.size());
    front->text(c, piece);
    return 0;
}

/// Nothing of it is sent or read any more.
void WsServer::Impl::clear(Connection& c) {
    c.out.clear();
    c.unsent = 0;
    drop_pieces(c);
}

/// To be called when the memory of `c` has changed.
void WsServer::Impl::account(Connection& c) {
    const auto now = c.out.bytes() + c.unsent + (c.half ? c.half->text.capacity() : 0);
    if (now == c.held) return;
    const auto address = c.peer.address.limit_key();
    if (now > c.held) held.add(address, c, now - c.held);
    if (now < c.held) held.remove(address, c, c.held - now);
    c.held = now;
}

void WsServer::Impl::end_excess() {
    while (auto* most = held.excess()) {
        if (most->out.empty() && most->unsent == 0) {
            close(*most, closing::kOverloaded, ClosedBy::unfinished);
        } else {
            drop(*most, ClosedBy::slow);
        }
    }
}

int WsServer::Impl::keep_piece(Connection& c, std::string_view piece) {
    if (!c.half) {
        c.half = std::make_unique<HalfFrame>(c, [](WheelTimer& timer) {
            auto& late = static_cast<HalfFrame&>(timer).connection;
            static_cast<Impl*>(late.server)
                ->close(late, closing::kUnfinished, ClosedBy::unfinished);
        });
        loop.schedule(*c.half, options.frame_timeout);
    }
    c.half->text.append(piece);
    account(c);
    end_excess();
    return 0;
}

void WsServer::Impl::drop_pieces(Connection& c) {
    c.half.reset();
    account(c);
}

int WsServer::Impl::writeable(Connection& c) {
    c.unsent = 0;  // or lws would not call
    account(c);
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
    clear(c);
    loop.schedule(c, kPeerClose);
    return 0;
}

/// The first call at any end that is not ours: TCP is gone, or lws refused a frame and sends a
/// close frame of its own, whose answer it would await for ever.
int WsServer::Impl::drops(Connection& c) {
    if (c.mode != Mode::open) return 0;
    char byte = 0;
    const auto peeked = recv(lws_get_socket_fd(c.wsi), &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT);
    const bool ended = peeked == 0 || (peeked < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    c.why = ended ? ClosedBy::lost : ClosedBy::protocol;
    c.mode = Mode::peer_closing;
    clear(c);
    front->gone(c);
    loop.schedule(c, kCloseLinger);
    return 0;
}

int WsServer::Impl::closed(Connection& c) {
    if (!c.established) return 0;
    c.established = false;
    front->gone(c);
    metrics.closed[c.why]->Increment();
    if (c.why != ClosedBy::lost) return 0;
    if (const auto age = cuts.lost(loop.now() - c.opened, loop.now())) {
        core::log_warn("edge", "cut_at_same_age",
                       {{"age_s", age->count()},
                        {"remedy",
                         "a proxy or firewall ends connections on which nothing comes: let it wait "
                         "for longer than edge.ping_interval, or make that shorter"}});
    }
    return 0;
}

/// An exception while this client was served: it gets a close code and connects again; no other
/// client notices. Before the upgrade lws ends the connection.
int WsServer::Impl::failed(Connection& c) {
    if (c.mode == Mode::handshake) return -1;
    close(c, closing::kFailed, ClosedBy::failed);
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
    if (lws_write(c.wsi, scratch.data() + LWS_PRE, payload.size(), kind) < 0) return false;
    c.unsent = lws_partial_buffered(c.wsi) ? payload.size() : 0;
    account(c);
    return true;
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

/// Ends our side of the TCP connection, as soon as the close frame has left.
void WsServer::Impl::half_close(Connection& c) {
    c.half_close_due = lws_partial_buffered(c.wsi);
    if (c.half_close_due) {
        loop.schedule(c, kCloseFlush);
        lws_callback_on_writable(c.wsi);
        return;
    }
    if (SSL* session = lws_get_ssl(c.wsi)) SSL_shutdown(session);
    shutdown(lws_get_socket_fd(c.wsi), SHUT_WR);
    loop.schedule(c, kCloseLinger);
}

void WsServer::Impl::close(Connection& c, Closing closing, ClosedBy why) {
    if (c.mode != Mode::open) return;
    c.why = why;
    c.close_code = closing.code;
    c.close_reason = closing.reason.substr(0, kCloseReasonMax);
    drop_pieces(c);
    end_deferral(c);  // the peer's bytes are read, or the kernel would reset the connection
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
    clear(c);
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
        case Mode::open:
            if (!core::contain(self.loop.name(), [&] { self.front->timer(c); })) self.failed(c);
            return;
        case Mode::handshake:
            self.metrics.handshake_timeouts->Increment();
            if (c.reads && c.reads->seen > 0 && !c.head_passed) {
                return self.answer_without_library(c, {plain_reply(408)});
            }
            break;
        case Mode::closing:
        case Mode::close_sent:
        case Mode::peer_closing:
        case Mode::dropping: break;
    }
    self.kill(c);
}

namespace {

using Mode = Connection::Mode;

/// Frames of a client in a second, averaged over ten, that are served as soon as they come.
constexpr std::size_t kPromptFramesPerSecond = 2;
/// Of the loop's time, for deferred connections in one turn.
constexpr core::Duration kDeferredSlice = std::chrono::microseconds{200};
/// The longest time for which a loop reads on in one turn.
constexpr core::Duration kReadOnMost = std::chrono::milliseconds{50};
/// Of a frame besides its payload: the least that a client sends.
constexpr std::size_t kFrameHeadBytes = 6;

}  // namespace

/// The library is about to read. It reports no ping, and no piece of a frame, so each read counts.
void WsServer::Impl::readable(Connection& c) {
    if (c.mode != Mode::open) return;
    c.read_bytes = 0;
    const bool served = core::contain(loop.name(), [&] {
        if (count(c, c.read_count.read()) && !c.prompt_frames.allows_more()) defer(c);
    });
    if (!served) failed(c);
}

/// Something of that connection counts as so many frames. False: it is closed, since they are more
/// than it may send.
///
/// A client that sends more than is served at once has its next frames served in turn with those of
/// all clients like it, for at most kDeferredSlice of each turn of the loop: however many they are,
/// the others wait for one slice.
bool WsServer::Impl::count(Connection& c, std::size_t frames) {
    const auto now = loop.now();
    const auto limit = options.frames_per_second_max;
    if (limit > 0 && !c.frames.allow(limit, frames, now)) {
        close(c, closing::kFlood, ClosedBy::flood);
        return false;
    }
    if (!c.prompt_frames.allow(kPromptFramesPerSecond, frames, now)) defer(c);
    return true;
}

void WsServer::Impl::defer(Connection& c) {
    if (c.deferred || !c.reads) return;
    forget_more(c);
    c.turn = deferred.insert(deferred.end(), &c);
    c.deferred = true;
    c.reads->pause();
    lws_rx_flow_control(c.wsi, 0);
}

void WsServer::Impl::end_deferral(Connection& c) {
    if (!c.deferred) return;
    deferred.erase(c.turn);
    c.deferred = false;
    if (!c.reads) return;  // it is being destroyed
    c.reads->resume();
    lws_rx_flow_control(c.wsi, 1);
}

/// lws goes on with the bytes that it keeps of this connection, or reads; either may destroy it.
void WsServer::Impl::read_now(Connection& c) {
    c.read_bytes = 0;
    lws_pollfd readable{.fd = lws_get_socket_fd(c.wsi), .events = POLLIN, .revents = POLLIN};
    lws_service_fd(context, &readable);
}

/// True: some are left.
bool WsServer::Impl::serve_some_deferred() {
    if (deferred.empty()) return false;
    for (const auto until = loop.now() + kDeferredSlice; !deferred.empty();) {
        Connection& c = *deferred.front();
        end_deferral(c);
        read_now(c);
        if (loop.now() >= until) break;
    }
    return !deferred.empty();
}

/// A read made messages whole that fill half of it: the socket has more, most likely.
void WsServer::Impl::note_read(Connection& c, std::size_t payload) {
    c.read_bytes += kFrameHeadBytes + payload;
    if (c.deferred || c.has_more || c.mode != Mode::open || c.read_bytes < kReadBytes / 2) return;
    c.turn = with_more.insert(with_more.end(), &c);
    c.has_more = true;
}

void WsServer::Impl::forget_more(Connection& c) {
    if (!std::exchange(c.has_more, false)) return;
    with_more.erase(c.turn);
}

/// The loop reads once from each socket in a turn, whatever the rest of the turn takes. So where it
/// is busy, clients would have their acks read more slowly than the homes send, and wait with full
/// windows. Reading goes on for as long as the rest of the turn took, within kReadOnMost.
void WsServer::Impl::read_on() {
    if (with_more.empty()) return;
    const auto began = loop.now();
    const auto until = began + std::clamp(began - loop.last_turn(), kDeferredSlice, kReadOnMost);
    while (!with_more.empty()) {
        Connection& c = *with_more.front();
        forget_more(c);
        read_now(c);
        if (loop.now() >= until) break;
    }
}

}  // namespace beckon::edge
