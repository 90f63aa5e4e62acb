#include "load.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace beckon::bench {

namespace {

constexpr std::size_t kLatenciesMax = 1U << 20;

using SteadyClock = std::chrono::steady_clock;

double cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int connect_to(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        std::perror("bench: connect");
        std::_Exit(1);
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

struct Client {
    int fd = -1;
    SteadyClock::time_point sent{};
};

LoadResult load(const LoadOptions& options) {
    LoadResult result;
    // In memory of fixed size: a soak has more answers than one would keep.
    std::vector<double> latencies;
    latencies.reserve(kLatenciesMax);
    std::size_t next = 0;
    const auto send_next = [&](Client& client) {
        const auto& request = options.requests[next++ % options.requests.size()];
        client.sent = SteadyClock::now();
        if (::send(client.fd, request.data(), request.size(), MSG_NOSIGNAL) !=
            static_cast<ssize_t>(request.size())) {
            ++result.refused;
        }
    };
    const int poller = ::epoll_create1(EPOLL_CLOEXEC);
    std::vector<Client> clients(static_cast<std::size_t>(options.connections));
    for (std::size_t i = 0; i < clients.size(); ++i) {
        clients[i].fd = connect_to(options.port);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = i;
        ::epoll_ctl(poller, EPOLL_CTL_ADD, clients[i].fd, &event);
    }
    const auto began = SteadyClock::now();
    const auto until = began + options.duration;
    for (auto& client : clients) send_next(client);
    std::array<epoll_event, 256> events{};
    std::array<char, 4096> bytes{};
    std::size_t open = clients.size();
    while (open > 0) {
        const int n = ::epoll_wait(poller, events.data(), static_cast<int>(events.size()), 5000);
        if (n <= 0) break;
        const auto now = SteadyClock::now();
        for (int i = 0; i < n; ++i) {
            auto& client = clients[events[static_cast<std::size_t>(i)].data.u64];
            const auto got = ::recv(client.fd, bytes.data(), bytes.size(), 0);
            const std::string_view reply{bytes.data(),
                                         static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
            const bool good = reply.starts_with("HTTP/1.1 201") && reply.ends_with("\r\n\r\n");
            ++(good ? result.answered : result.refused);
            if (good && latencies.size() < kLatenciesMax) {
                latencies.push_back(
                    std::chrono::duration<double, std::micro>(now - client.sent).count());
            }
            const bool over =
                options.answers > 0 ? result.answered >= options.answers : now >= until;
            if (over || got <= 0) {
                ::close(client.fd);
                --open;
            } else {
                send_next(client);
            }
        }
    }
    result.seconds = std::chrono::duration<double>(SteadyClock::now() - began).count();
    std::sort(latencies.begin(), latencies.end());
    if (!latencies.empty()) {
        result.p50_us = latencies[latencies.size() / 2];
        result.p99_us = latencies[latencies.size() * 99 / 100];
    }
    result.client_cpu_s = cpu_seconds();
    return result;
}

}  // namespace

LoadResult run_load(const LoadOptions& options) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) std::abort();
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(pipe[1], 3);
        ::close_range(4, ~0U, 0);  // the server's sockets must end when it closes them
        const auto result = load(options);
        if (::write(3, &result, sizeof result) != sizeof result) std::_Exit(1);
        std::_Exit(0);
    }
    ::close(pipe[1]);
    LoadResult result;
    const bool whole = ::read(pipe[0], &result, sizeof result) == sizeof result;
    ::close(pipe[0]);
    ::waitpid(child, nullptr, 0);
    if (!whole) std::abort();
    return result;
}

}  // namespace beckon::bench
