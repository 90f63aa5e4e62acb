#include "ingest/http_worker.hpp"

#include "core/handle.hpp"
#include "core/logger.hpp"
#include "ingest/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <linux/filter.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace beckon::ingest {

namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr int kBacklog = 4096;
constexpr int kAcceptsPerWake = 64;
constexpr std::chrono::milliseconds kAcceptPause{100};
/// A handshake whose packet the filter has just let through is complete by then.
constexpr std::chrono::milliseconds kHandshakeUnderWay{10};
/// Of the kernel's memory in each direction, for one connection. By itself it gives a peer that
/// pipelines and reads nothing 4 MB (net.ipv4.tcp_wmem), which times connections_max is a machine.
constexpr int kSocketBufferBytes = 32'768;

[[noreturn]] void cannot_listen(const std::string& host, std::uint16_t port,
                                const std::string& why) {
    throw std::runtime_error("cannot listen on " + host + ":" + std::to_string(port) + ": " + why);
}

int bound_socket(const addrinfo& address, bool share) {
    const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    const int on = 1;
    const int off = 0;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (share) ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    // Accepted sockets inherit them; the window's scale is agreed with their first packet.
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSocketBufferBytes, sizeof kSocketBufferBytes);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kSocketBufferBytes, sizeof kSocketBufferBytes);
    if (address.ai_family == AF_INET6) {
        ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (::bind(fd, address.ai_addr, address.ai_addrlen) == 0) return fd;
    const int why = errno;
    ::close(fd);
    errno = why;
    return -1;
}

/// From here on the socket hears nothing: a handshake is left without an answer, until the socket
/// is closed and the next try is refused.
void refuse_packets(int listening_socket) {
    sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    const sock_fprog filter{1, &drop};
    ::setsockopt(listening_socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

void set_port(addrinfo& address, std::uint16_t port) {
    if (address.ai_family == AF_INET6) {
        reinterpret_cast<sockaddr_in6*>(address.ai_addr)->sin6_port = htons(port);
    } else {
        reinterpret_cast<sockaddr_in*>(address.ai_addr)->sin_port = htons(port);
    }
}

std::uint16_t port_of(int fd) {
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
    return ntohs(bound.ss_family == AF_INET6
                     ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                     : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

net::PeerAddress address_of(const tcp::endpoint& endpoint) {
    net::PeerAddress address;
    if (endpoint.address().is_v6()) {
        const auto bytes = endpoint.address().to_v6().to_bytes();
        std::copy(bytes.begin(), bytes.end(), address.bytes.begin());
    } else {
        const auto mapped = boost::asio::ip::make_address_v6(boost::asio::ip::v4_mapped,
                                                             endpoint.address().to_v4());
        const auto bytes = mapped.to_bytes();
        std::copy(bytes.begin(), bytes.end(), address.bytes.begin());
    }
    return address;
}

}  // namespace

Listeners listen_on(const std::string& host, std::uint16_t port, int count) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0) {
        cannot_listen(host, port, ::gai_strerror(error));
    }
    const core::Handle<addrinfo, ::freeaddrinfo> addresses{found};
    set_port(*addresses, port);

    // First alone: SO_REUSEPORT would silently share the port with another Beckon.
    const int alone = bound_socket(*addresses, false);
    if (alone < 0) cannot_listen(host, port, std::strerror(errno));
    if (::listen(alone, 1) != 0) {
        const int why = errno;
        ::close(alone);
        cannot_listen(host, port, std::strerror(why));
    }
    Listeners listeners;
    listeners.port = port_of(alone);
    ::close(alone);
    set_port(*addresses, listeners.port);
    for (int i = 0; i < count; ++i) {
        const int fd = bound_socket(*addresses, true);
        if (fd < 0 || ::listen(fd, kBacklog) != 0) {
            const int why = errno;
            if (fd >= 0) ::close(fd);
            for (const int open : listeners.sockets) ::close(open);
            cannot_listen(host, port, std::strerror(why));
        }
        listeners.sockets.push_back(fd);
    }
    return listeners;
}

HttpWorker::HttpWorker(IoLoop& loop, int listening_socket, const RequestLimits& limits,
                       const ConnectionTimes& times, Shared shared, ConnectionSet::Handler handler,
                       std::shared_ptr<const net::TlsContext> tls)
    : loop_(loop),
      shared_(shared),
      tls_(std::move(tls)),
      set_(loop.context(), limits, times, shared.metrics, std::move(handler)),
      acceptor_(loop.context()),
      pause_(loop.context()) {
    sockaddr_storage bound{};
    socklen_t length = sizeof bound;
    ::getsockname(listening_socket, reinterpret_cast<sockaddr*>(&bound), &length);
    acceptor_.assign(bound.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), listening_socket);
    acceptor_.non_blocking(true);
    set_.on_closed = [this](const net::PeerAddress& peer, bool exempt) {
        shared_.connections.closed(peer, exempt);
    };
}

HttpWorker::~HttpWorker() { abort_all(); }

void HttpWorker::accept() {
    acceptor_.async_wait(tcp::acceptor::wait_read, [this](const error_code& error) {
        if (error || draining_) return;
        for (int i = 0; i < kAcceptsPerWake; ++i) {
            if (!accept_one()) return;
        }
        accept();
    });
}

/// False if the loop of accepts ends here; the next wake-up is arranged then.
bool HttpWorker::accept_one() {
    error_code error;
    tcp::endpoint endpoint;
    tcp::socket socket{loop_.context()};
    acceptor_.accept(socket, endpoint, error);
    if (error == boost::asio::error::would_block) {
        if (!draining_) accept();
        return false;
    }
    if (error == boost::system::errc::too_many_files_open ||
        error == boost::system::errc::too_many_files_open_in_system ||
        error == boost::system::errc::no_buffer_space ||
        error == boost::system::errc::not_enough_memory) {
        if (!draining_) pause_accepting();
        return false;
    }
    if (error) return true;  // that one client has gone already

    const Connection::Peer peer{address_of(endpoint),
                                shared_.proxies.contains(address_of(endpoint))};
    switch (shared_.connections.admit(peer.address, peer.exempt)) {
        case net::ConnectionLimiter::Admission::admitted: break;
        case net::ConnectionLimiter::Admission::total_reached:
            turn_away(std::move(socket), CloseReason::connections);
            return true;
        case net::ConnectionLimiter::Admission::address_reached:
            turn_away(std::move(socket), CloseReason::address);
            return true;
    }
    socket.non_blocking(true, error);
    socket.set_option(tcp::no_delay{true}, error);
    const auto connection = std::make_shared<Connection>(std::move(socket), tls_, peer, set_);
    connection->start();
    if (draining_) connection->drain();
    return true;
}

/// The socket stays readable while descriptors are short: waiting for it would spin.
void HttpWorker::pause_accepting() {
    shared_.metrics.accept_pauses.Increment();
    core::log_warn("ingest", "accept_pauses", {{"why", "no descriptors or memory"}});
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([this](const error_code& error) {
        if (!error && !draining_) accept();
    });
}

/// One write without waiting: whoever floods us gets no more of our time.
void HttpWorker::turn_away(tcp::socket socket, CloseReason reason) {
    shared_.metrics.closed(reason);
    if (!tls_) {
        std::string out;
        auto reply = error_reply({Problem::busy, "Too many connections; try again later.", 0});
        reply.add("Vary", std::string{kVary});
        append_reply(out, reply, {.close = true});
        ::send(socket.native_handle(), out.data(), out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    error_code ignored;
    socket.shutdown(tcp::socket::shutdown_send, ignored);
}

/// Closing a listening socket resets the connections that the kernel has accepted on it, requests
/// and all. So nobody is let in any more first, by a filter; then those that are in are taken.
void HttpWorker::drain(std::function<void()> drained) {
    draining_ = true;
    pause_.cancel();
    refuse_packets(acceptor_.native_handle());
    set_.for_each([](Connection& connection) { connection.drain(); });
    accept_waiting();
    pause_.expires_after(kHandshakeUnderWay);
    pause_.async_wait([this, drained = std::move(drained)](const error_code&) mutable {
        accept_waiting();
        error_code ignored;
        acceptor_.close(ignored);
        set_.when_empty(std::move(drained));
    });
}

void HttpWorker::accept_waiting() {
    for (int i = 0; i < kBacklog && accept_one(); ++i) {
    }
}

void HttpWorker::give_up() {
    set_.for_each([](Connection& connection) { connection.give_up(); });
}

void HttpWorker::abort_all() {
    set_.for_each([](Connection& connection) { connection.abort(CloseReason::stopping); });
}

}  // namespace beckon::ingest
