#include "net/http/http_worker.hpp"

#include "core/logger.hpp"
#include "net/http/connection.hpp"
#include "net/listener.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace beckon::net {

namespace {

constexpr int kAcceptsPerTurn = 64;
/// More than the kernel queues for one listener.
constexpr int kWaitingMax = 8'192;
/// A handshake whose packet the filter has just let through is complete by then.
constexpr std::chrono::milliseconds kHandshakeUnderWay{10};

}  // namespace

HttpWorker::HttpWorker(IoLoop& loop, Descriptor listener, const Shared& shared)
    : loop_(loop),
      shared_(shared),
      tls_(shared.options.tls),
      set_(loop,
           {shared.options.name, shared.options.limits, shared.options.times, shared.connections,
            shared.observer, shared.handler, shared.options.proxies, shared.options.proxy_protocol,
            std::max(1, shared.options.own_descriptors / shared.options.threads)}),
      listener_(loop, std::move(listener)) {}

HttpWorker::~HttpWorker() {
    set_.for_each([](Connection& connection) { connection.abort(CloseReason::stopping); });
}

void HttpWorker::await_peers() {
    listener_.wait(Watch::Event::readable, [this] { accept(); });
}

void HttpWorker::accept() {
    if (draining_) return;
    const auto outcome = accept_some(
        listener_.descriptor(), kAcceptsPerTurn, [this] { return room(); },
        [this](Descriptor socket, const sockaddr_storage& peer) {
            serve(std::move(socket), peer);
        });
    switch (outcome) {
        case AcceptOutcome::more:
        case AcceptOutcome::drained: pause_logged_ = false; return await_peers();
        case AcceptOutcome::exhausted: return pause_accepting();
    }
}

/// The listener stays readable while descriptors are short: waiting for it would spin. One line
/// says so until connections are accepted again.
void HttpWorker::pause_accepting() {
    if (!std::exchange(pause_logged_, true)) {
        core::log_warn("net", "accept_paused",
                       {{"server", shared_.options.name}, {"why", std::strerror(errno)}});
    }
    shared_.observer.accept_paused();
    loop_.post_after(std::chrono::milliseconds{kAcceptPauseMs}, [this] { accept(); });
}

/// A placeholder; where there is none, the connection that has waited longest leaves one.
Descriptor HttpWorker::room() {
    auto place = set_.own_descriptors().take();
    if (!place && set_.close_oldest()) place = set_.own_descriptors().take();
    return place;
}

ConnectionLimiter::Admission HttpWorker::admit(const Peer& peer) {
    using Admission = ConnectionLimiter::Admission;
    const auto admission = shared_.connections.admit(peer);
    const bool replace = admission == Admission::total_reached &&
                         shared_.options.when_full == WhenFull::replace_oldest;
    return replace && set_.close_oldest() ? shared_.connections.admit(peer) : admission;
}

void HttpWorker::serve(Descriptor socket, const sockaddr_storage& address) {
    Peer peer{address_of(address)};
    peer.exempt = shared_.options.proxies.contains(peer.address);
    switch (admit(peer)) {
        case ConnectionLimiter::Admission::admitted: break;
        case ConnectionLimiter::Admission::total_reached:
            return turn_away(socket, CloseReason::connections);
        case ConnectionLimiter::Admission::address_reached:
            return turn_away(socket, CloseReason::address);
    }
    try {
        const auto connection = std::make_shared<Connection>(std::move(socket), tls_, peer, set_);
        connection->start();
        if (draining_) connection->drain();
    } catch (const std::exception& thrown) {  // no memory: this connection ends, the loop goes on
        core::log_error("net", "connection_not_served", {{"error", thrown.what()}});
        shared_.connections.gone(peer);
        shared_.observer.turned_away(CloseReason::broken);
    }
}

/// One write without waiting: a peer that floods us gets no more of our time.
void HttpWorker::turn_away(const Descriptor& socket, CloseReason reason) {
    shared_.observer.turned_away(reason);
    if (!tls_) {
        std::string out;
        append_reply(out, shared_.handler.rejection(Rejection::too_many_connections),
                     {.close = true});
        ::send(socket.get(), out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    ::shutdown(socket.get(), SHUT_WR);
}

/// Closing a listening socket resets the connections that the kernel has accepted on it, requests
/// and all. So the port stops letting peers in first, and then takes the connections that are in.
void HttpWorker::drain(std::function<void()> drained) {
    draining_ = true;
    stop_handshakes(listener_.descriptor());
    set_.for_each([](Connection& connection) { connection.drain(); });
    accept_waiting();
    loop_.post_after(kHandshakeUnderWay, [this, drained = std::move(drained)]() mutable {
        accept_waiting();
        listener_.close();
        set_.when_empty(std::move(drained));
    });
}

void HttpWorker::accept_waiting() {
    accept_some(
        listener_.descriptor(), kWaitingMax, [this] { return room(); },
        [this](Descriptor socket, const sockaddr_storage& peer) {
            serve(std::move(socket), peer);
        });
}

void HttpWorker::give_up() {
    set_.for_each([](Connection& connection) { connection.give_up(); });
}

}  // namespace beckon::net
