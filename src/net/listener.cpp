#include "net/listener.hpp"

#include "core/descriptors.hpp"
#include "core/handle.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

namespace beckon::net {

namespace {

constexpr int kBacklog = 4096;

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

[[noreturn]] void cannot_listen(const ListenOptions& options, const std::string& why) {
    throw std::runtime_error("cannot listen on " + options.host + " port " +
                             std::to_string(options.port) + ": " + why);
}

[[noreturn]] void cannot_listen(const ListenOptions& options) {
    cannot_listen(options, errno == EADDRINUSE ? "the port is taken by another process"
                                               : std::strerror(errno));
}

Address resolve(const ListenOptions& options) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(options.host.empty() ? nullptr : options.host.c_str(),
                                    std::to_string(options.port).c_str(), &hints, &found);
    if (error != 0) cannot_listen(options, ::gai_strerror(error));
    const core::Handle<addrinfo, ::freeaddrinfo> owner{found};
    Address address;
    std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
    address.size = found->ai_addrlen;
    return address;
}

void set_port(Address& address, std::uint16_t port) {
    // The port stands at the same place in both families.
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = htons(port);
}

void set(const Descriptor& fd, int level, int option, int value) {
    ::setsockopt(fd.get(), level, option, &value, sizeof value);
}

enum class Share : bool { no, yes };

/// A listening socket; none, with errno set, if that fails.
Descriptor listen_at(const Address& address, Share share, const ListenOptions& options) {
    Descriptor fd{
        ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (!fd) return fd;
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (share == Share::yes) set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (address.storage.ss_family == AF_INET6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    // Accepted sockets inherit these; the window's scale is agreed with their first packet.
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if (options.send_buffer_bytes > 0) set(fd, SOL_SOCKET, SO_SNDBUF, options.send_buffer_bytes);
    if (options.receive_buffer_bytes > 0) {
        set(fd, SOL_SOCKET, SO_RCVBUF, options.receive_buffer_bytes);
    }
    const auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
    if (::bind(fd.get(), name, address.size) == 0 && ::listen(fd.get(), kBacklog) == 0) return fd;
    const int why = errno;
    fd.reset();
    errno = why;
    return fd;
}

bool no_resources(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

bool connection_waits(int listener) {
    pollfd one{.fd = listener, .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, 0) > 0;
}

}  // namespace

std::uint16_t port_of(const Descriptor& listener) {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name), &size);
    sockaddr_in6 v6{};
    std::memcpy(&v6, &name, sizeof v6);  // the port stands at the same place in both families
    return ntohs(v6.sin6_port);
}

std::vector<Descriptor> listen_shared(const ListenOptions& options) {
    auto address = resolve(options);
    {
        // First alone: a bind that shares would succeed beside another process of this user, and
        // each of the two would get half of the connections.
        const auto alone = listen_at(address, Share::no, options);
        if (!alone) cannot_listen(options);
        set_port(address, port_of(alone));
    }
    std::vector<Descriptor> listeners;
    for (std::size_t i = 0; i < options.sockets; ++i) {
        listeners.push_back(listen_at(address, Share::yes, options));
        if (!listeners.back()) cannot_listen(options);
    }
    return listeners;
}

AcceptOutcome accept_some(int listener, int max, const Room& room, const Accepted& accepted) {
    for (int i = 0; i < max; ++i) {
        sockaddr_storage peer{};
        socklen_t size = sizeof peer;
        const auto accept = [&] {
            return Descriptor{::accept4(listener, reinterpret_cast<sockaddr*>(&peer), &size,
                                        SOCK_NONBLOCK | SOCK_CLOEXEC)};
        };
        auto socket = accept();
        if (!socket && errno == EMFILE) {
            // accept4() takes a descriptor first, and says so where no connection waits, too.
            if (!connection_waits(listener)) return AcceptOutcome::drained;
            const auto has_room = static_cast<bool>(room());  // which is closed at once
            errno = EMFILE;
            if (has_room) socket = accept();
        }
        if (socket && core::is_reserved(socket.get())) {
            auto place = room();
            const bool moved = place && ::dup3(socket.get(), place.get(), O_CLOEXEC) >= 0;
            socket = moved ? std::move(place) : Descriptor{};
            if (!socket) {
                errno = EMFILE;
                return AcceptOutcome::exhausted;
            }
        }
        if (socket) {
            accepted(std::move(socket), peer);
        } else if (no_resources(errno)) {
            return AcceptOutcome::exhausted;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EBADF || errno == EINVAL) {
            return AcceptOutcome::drained;
        }  // else: this one connection ended while it waited; the next
    }
    return AcceptOutcome::more;
}

void stop_handshakes(int listener) {
    sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
    const sock_fprog filter{1, &drop};
    ::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

}  // namespace beckon::net
