// How far apart fetches begin, and that the kernel holds them back.
#include "log/kafka/fetch_pace.hpp"

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

using namespace beckon;
using log::SteadyTime;
using log::kafka::FetchPace;
using log::kafka::limit_rate;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr milliseconds kLinger{8};

/// A TCP connection of this process to itself.
class Loopback {
public:
    Loopback() {
        const Socket listens;
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const at = reinterpret_cast<sockaddr*>(&address);
        socklen_t size = sizeof address;
        check(::bind(listens.fd, at, size) == 0 && ::listen(listens.fd, 1) == 0 &&
              ::getsockname(listens.fd, at, &size) == 0 && ::connect(from_.fd, at, size) == 0);
        to_ = ::accept(listens.fd, nullptr, nullptr);
        const int on = 1;
        const timeval limit{.tv_sec = 20, .tv_usec = 0};
        check(to_ >= 0 && ::setsockopt(from_.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
              ::setsockopt(to_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0);
    }
    ~Loopback() { ::close(to_); }
    Loopback(const Loopback&) = delete;
    Loopback& operator=(const Loopback&) = delete;

    int from() const { return from_.fd; }
    /// How long `count` segments of `bytes` take, each sent when the one before has come.
    SteadyTime::duration send(int count, std::size_t bytes) const {
        const std::string segment(bytes, 's');
        std::string received(bytes, ' ');
        const auto began = std::chrono::steady_clock::now();
        for (int i = 0; i < count; ++i) {
            const auto size = static_cast<ssize_t>(bytes);
            check(::send(from_.fd, segment.data(), bytes, 0) == size &&
                  ::recv(to_, received.data(), bytes, MSG_WAITALL) == size);
        }
        return std::chrono::steady_clock::now() - began;
    }

private:
    struct Socket {
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ~Socket() { ::close(fd); }
    };
    static void check(bool works) {
        if (!works) throw std::runtime_error("no connection");
    }

    const Socket from_;
    int to_ = -1;
};

}  // namespace

TEST_CASE("fetches begin some milliseconds apart, and further where processors are short") {
    const FetchPace pace;
    CHECK(pace.apart({}) == FetchPace::kApartLeast);
    CHECK(pace.apart(kLinger) == kLinger);
    CHECK(pace.apart(seconds{1}) == FetchPace::kApartMost);
    CHECK(pace.rate(600, milliseconds{10}) == 60'000);
    CHECK(pace.rate(600, {}) == 100'000);
}

TEST_CASE("after an answer that brings much the next fetch does not wait") {
    FetchPace pace;
    pace.answered(FetchPace::kFullBytes, 1U << 20);
    CHECK(pace.apart(kLinger) == milliseconds{0});
    CHECK(pace.rate(600, kLinger) == FetchPace::kUnlimited);
    pace.answered(FetchPace::kFullBytes - 1, 1U << 20);
    CHECK(pace.apart(kLinger) == kLinger);
    pace.answered(4096, 4096);  // one partition cannot bring more
    CHECK(pace.apart(kLinger) == milliseconds{0});
}

TEST_CASE("the kernel holds back what follows too soon") {
    constexpr std::size_t kBytes = 600;
    const Loopback connection;
    connection.send(12, kBytes);
    limit_rate(connection.from(), FetchPace{}.rate(kBytes, kLinger));
    CHECK(connection.send(10, kBytes) > 7 * kLinger);
}
