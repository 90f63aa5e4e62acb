#include "edge/link/resolver.hpp"

#include "core/authority.hpp"
#include "core/contain.hpp"
#include "core/handle.hpp"
#include "net/descriptor.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>

namespace beckon::edge::link {

using core::fail;
using core::Fault;

namespace {

constexpr const char* kThreadName = "link-resolve";

/// 0: connected. Else the `errno` of the connection that was not made.
int connect_within(int fd, const Endpoint& endpoint, core::Duration limit) {
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&endpoint.address), endpoint.size) == 0) {
        return 0;
    }
    if (errno != EINPROGRESS) return errno;
    pollfd waits{.fd = fd, .events = POLLOUT, .revents = 0};
    const auto end = std::chrono::steady_clock::now() + limit;
    for (;;) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        const int ready = ::poll(&waits, 1, static_cast<int>(std::max<long>(0, left.count())));
        if (ready == 0) return ETIMEDOUT;
        if (ready > 0) break;
        if (errno != EINTR) return errno;
    }
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
    return error;
}

}  // namespace

core::Result<Address> parse_address(const std::string& text) {
    const auto wrong = [&text] {
        return fail(Fault::invalid,
                    "'" + text + "' is no address of a link: write host:port or [IPv6]:port");
    };
    const auto split = core::split_authority(text);
    if (!split || !split->port) return wrong();
    const auto port = core::parse_port(*split->port);
    if (!port) return wrong();
    return Address{.host = std::string{core::without_brackets(split->host)}, .port = *port};
}

core::Result<std::vector<Endpoint>> look_up(const Address& address) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (const int error = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(),
                                        &hints, &found);
        error != 0) {
        return fail(Fault::unavailable,
                    "cannot resolve '" + address.host + "': " + gai_strerror(error));
    }
    const core::Handle<addrinfo, freeaddrinfo> owner{found};
    std::vector<Endpoint> endpoints;
    for (const auto* one = found; one; one = one->ai_next) {
        auto& endpoint = endpoints.emplace_back();
        endpoint.size =
            static_cast<socklen_t>(std::min<std::size_t>(one->ai_addrlen, sizeof endpoint.address));
        std::memcpy(&endpoint.address, one->ai_addr, endpoint.size);
    }
    return endpoints;
}

core::Result<int> connect_to_any(const std::vector<Endpoint>& endpoints, core::Duration limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    bool all_refused = !endpoints.empty();
    std::string why = "the host has no address";
    for (std::size_t i = 0; i < endpoints.size(); ++i) {
        net::Descriptor socket{::socket(endpoints[i].address.ss_family,
                                        SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
        const auto share = (end - std::chrono::steady_clock::now()) /
                           static_cast<core::Duration::rep>(endpoints.size() - i);
        const int error =
            socket.get() < 0 ? errno : connect_within(socket.get(), endpoints[i], share);
        if (error == 0) return socket.release();
        all_refused = all_refused && error == ECONNREFUSED;
        why = std::strerror(error);
    }
    // An address that cannot be reached may be the one at which the peer lives.
    return fail(all_refused ? Fault::not_found : Fault::unavailable, std::move(why));
}

Resolver::Resolver(core::Executor& executor, LookUp look_up)
    : look_up_(std::move(look_up)), lifetime_(executor) {}

void Resolver::connect(Address to, Connecting done) {
    const auto answer = [remote = lifetime_.remote(),
                         done = std::move(done)](core::Result<int> made) {
        // Closes the socket if nobody is there any more to take it.
        const auto socket = std::make_shared<net::Descriptor>(made ? *made : -1);
        remote.post([done, made = std::move(made), socket] {
            static_cast<void>(socket->release());
            done(made);
        });
    };
    try {
        std::thread{[answer, look_up = look_up_, to = std::move(to)] {
            pthread_setname_np(pthread_self(), kThreadName);
            core::Result<int> made = fail(Fault::unavailable, "connecting threw");
            core::contain(kThreadName, [&] {
                const auto endpoints = look_up(to);
                made =
                    endpoints ? connect_to_any(*endpoints, kConnectFor) : fail(endpoints.error());
            });
            answer(std::move(made));
        }}.detach();
    } catch (const std::system_error& none) {
        core::report_thrown(kThreadName, none.what());
        answer(fail(Fault::unavailable, "the system gave no thread to connect on"));
    }
}

}  // namespace beckon::edge::link
