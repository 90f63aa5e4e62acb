#include "core/contain.hpp"
#include "edge/ws/ws_server_impl.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <poll.h>

namespace beckon::edge {

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
