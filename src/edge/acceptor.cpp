#include "edge/acceptor.hpp"

#include "core/handle.hpp"
#include "core/logger.hpp"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <ev.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

namespace beckon::edge {

namespace {

/// Connections taken in one go, so that a storm of them does not starve those that are there.
constexpr int kAcceptsPerTurn = 64;
constexpr core::Duration kPause = std::chrono::milliseconds{100};
/// Of the kernel's memory for one client that does not read (default 2.5 MB;
/// docs/facts/libwebsockets.md#limits).
constexpr int kSendBufferBytes = 65'536;

[[noreturn]] void fail(const std::string& host, std::uint16_t port, const std::string& why) {
    throw std::runtime_error("cannot listen on " + host + " port " + std::to_string(port) + ": " +
                             why);
}

void set(int fd, int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof value);
}

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

Address resolve(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                  std::to_string(port).c_str(), &hints, &found);
    if (error != 0) fail(host, port, gai_strerror(error));
    const core::Handle<addrinfo, freeaddrinfo> owner{found};
    Address address;
    std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
    address.size = found->ai_addrlen;
    return address;
}

enum class Share : bool { no, yes };

/// A socket bound to the address. -1 with errno set if that fails.
Descriptor bind_to(const Address& address, Share share) {
    Descriptor fd{socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (fd.get() < 0) return fd;
    set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (share == Share::yes) set(fd.get(), SOL_SOCKET, SO_REUSEPORT, 1);
    if (address.storage.ss_family == AF_INET6) set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    const auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
    if (bind(fd.get(), name, address.size) != 0) return Descriptor{};
    return fd;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    if (this != &other) {
        const Descriptor old{release()};
        fd_ = other.release();
    }
    return *this;
}
Descriptor::~Descriptor() {
    if (fd_ >= 0) close(fd_);
}
int Descriptor::release() { return std::exchange(fd_, -1); }

std::uint16_t port_of(const Descriptor& listener) {
    sockaddr_storage name{};
    socklen_t size = sizeof name;
    getsockname(listener.get(), reinterpret_cast<sockaddr*>(&name), &size);
    sockaddr_in6 v6{};
    std::memcpy(&v6, &name, sizeof v6);  // the port stands at the same place in both families
    return ntohs(v6.sin6_port);
}

std::vector<Descriptor> listen_shared(const std::string& host, std::uint16_t port,
                                      std::size_t count) {
    // A bind that does not share fails if anybody listens there; one that shares would succeed
    // beside another edge of this user, and each would get half of the clients.
    if (port != 0 && bind_to(resolve(host, port), Share::no).get() < 0) {
        fail(host, port,
             errno == EADDRINUSE ? "the port is taken by another process" : std::strerror(errno));
    }
    std::vector<Descriptor> listeners;
    for (std::size_t i = 0; i < count; ++i) {
        Descriptor fd = bind_to(resolve(host, port), Share::yes);
        if (fd.get() < 0 || listen(fd.get(), SOMAXCONN) != 0) fail(host, port, strerror(errno));
        // Accepted sockets inherit these.
        set(fd.get(), SOL_SOCKET, SO_SNDBUF, kSendBufferBytes);
        set(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
        port = port_of(fd);
        listeners.push_back(std::move(fd));
    }
    return listeners;
}

struct Acceptor::Impl {
    ShardLoop& loop;
    Descriptor listener;
    Accepted accepted;
    Paused paused;
    ev_io watcher{};

    struct Resume : WheelTimer {
        explicit Resume(Impl& s)
            : WheelTimer([](WheelTimer& t) {
                  auto& acceptor = static_cast<Resume&>(t).self;
                  ev_io_start(acceptor.loop.native(), &acceptor.watcher);
              }),
              self(s) {}
        Impl& self;
    };
    Resume resume{*this};

    void accept_some() {
        for (int i = 0; i < kAcceptsPerTurn; ++i) {
            sockaddr_storage peer{};
            socklen_t size = sizeof peer;
            const int fd = accept4(listener.get(), reinterpret_cast<sockaddr*>(&peer), &size,
                                   SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd >= 0) {
                accepted(fd, peer);
            } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
                return pause(errno);
            } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
                return;
            }  // else: this one connection died in the queue; the next
        }
    }

    void pause(int why) {
        ev_io_stop(loop.native(), &watcher);
        loop.schedule(resume, kPause);
        paused();
        core::log_warn("edge", "accept_paused", {{"why", std::strerror(why)}});
    }
};

Acceptor::Acceptor(ShardLoop& loop, Descriptor listener, Accepted accepted, Paused paused)
    : impl_(new Impl{.loop = loop,
                     .listener = std::move(listener),
                     .accepted = std::move(accepted),
                     .paused = std::move(paused)}) {
    ev_io_init(
        &impl_->watcher,
        [](struct ev_loop*, ev_io* w, int) { static_cast<Impl*>(w->data)->accept_some(); },
        impl_->listener.get(), EV_READ);
    impl_->watcher.data = impl_.get();
    ev_io_start(loop.native(), &impl_->watcher);
}

Acceptor::~Acceptor() { stop(); }

void Acceptor::stop() {
    ev_io_stop(impl_->loop.native(), &impl_->watcher);
    impl_->loop.wheel().cancel(impl_->resume);
    impl_->listener = Descriptor{};
}

}  // namespace beckon::edge
