#include "edge/link/resolver.hpp"

#include "edge/loop/shard_loop.hpp"

#include <future>
#include <memory>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <netinet/in.h>
#include <unistd.h>

using namespace beckon;
using namespace edge::link;
using namespace std::chrono_literals;
using core::Fault;

namespace {

Endpoint endpoint(const std::string& host, std::uint16_t port) {
    const auto found = look_up({.host = host, .port = port});
    REQUIRE(found);
    return found->front();
}

/// A socket that listens at 127.0.0.1 only.
struct Listener {
    Listener() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        REQUIRE(::bind(fd, any, size) == 0);
        REQUIRE(::listen(fd, 8) == 0);
        REQUIRE(::getsockname(fd, any, &size) == 0);
        port = ntohs(address.sin_port);
    }
    ~Listener() { ::close(fd); }
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::uint16_t port = 0;
};

}  // namespace

TEST_CASE("a host is reached at any of its addresses") {
    const Listener listener;
    const auto refuses = endpoint("127.0.0.2", listener.port);
    const auto takes = endpoint("127.0.0.1", listener.port);
    const auto made = connect_to_any({refuses, takes}, 3s);
    REQUIRE(made);
    ::close(*made);
}

TEST_CASE("nobody listens at a host only if all of its addresses refuse") {
    const Listener listener;
    const auto refuses = endpoint("127.0.0.2", listener.port);
    const auto unreachable = endpoint("255.255.255.255", listener.port);
    CHECK(connect_to_any({refuses, refuses}, 3s).error().fault == Fault::not_found);
    CHECK(connect_to_any({refuses, unreachable}, 3s).error().fault == Fault::unavailable);
    CHECK(connect_to_any({unreachable, refuses}, 3s).error().fault == Fault::unavailable);
    CHECK(connect_to_any({}, 3s).error().fault == Fault::unavailable);
}

TEST_CASE("a name that is slow holds up neither another one nor the end") {
    const Listener listener;
    const core::SystemClock clock;
    edge::ShardLoop loop{"test-loop", clock};
    loop.start();
    std::promise<void> slow;
    const auto released = slow.get_future().share();
    auto resolver = std::make_unique<Resolver>(loop, [released](const Address& address) {
        if (address.host == "slow") released.wait();
        return look_up({.host = "127.0.0.1", .port = address.port});
    });
    std::promise<bool> other;
    loop.post([&] {
        resolver->connect({.host = "slow", .port = listener.port},
                          [](const core::Result<int>&) { FAIL("its asker has gone"); });
        resolver->connect({.host = "quick", .port = listener.port},
                          [&](const core::Result<int>& made) {
                              if (made) ::close(*made);
                              other.set_value(made.has_value());
                          });
    });
    CHECK(other.get_future().get());
    loop.stop([&] { resolver.reset(); });
    slow.set_value();
}
