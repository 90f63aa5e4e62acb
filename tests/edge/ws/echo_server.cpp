// The WebSocket layer of the edge with nothing behind it: sends back every text. For conformance
// tests (tests/e2e/autobahn.mjs). Prints its port, and ends when its input ends.
#include "edge/ws/ws_server.hpp"
#include "net/listener.hpp"
#include "ops/metrics.hpp"

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

using namespace beckon;

namespace {

/// Autobahn's largest message has 16 MiB; the edge itself takes 64 KiB (docs/protocol).
constexpr std::size_t kFrameBytesMax = 20U << 20;

struct Echo final : edge::ClientEvents {
    void opened(edge::Client&) override {}
    void text(edge::Client& client, std::string_view frame) override {
        sockets->send(client, std::string{frame});
    }
    void pong(edge::Client&) override {}
    void timer(edge::Client&) override {}
    void gone(edge::Client&) override {}

    edge::Sockets* sockets = nullptr;
};

edge::EdgeOptions options() {
    edge::EdgeOptions out;
    out.frames_per_second_max = 0;
    out.frame_bytes_max = kFrameBytesMax;
    out.unsent_bytes_max = 3 * kFrameBytesMax;
    out.held_bytes_max = 6 * kFrameBytesMax;
    out.frame_timeout = std::chrono::minutes{2};
    return out;
}

}  // namespace

int main() {
    core::SystemClock clock;
    ops::Metrics metrics;
    net::Admission admission{{}};
    edge::ShardLoop loop{"echo", clock};
    auto server = std::make_unique<edge::WsServer>(options(), edge::TicketKeys{}, loop, admission,
                                                   edge::WsServerMetrics{metrics},
                                                   [] { return edge::MonitorStatus{}; });
    Echo echo;
    echo.sockets = server.get();
    auto listeners = net::listen_shared({});
    std::printf("%d\n", net::port_of(listeners.front()));
    std::fflush(stdout);
    server->serve(echo, std::move(listeners.front()));
    loop.start();
    char byte;
    while (::read(STDIN_FILENO, &byte, 1) > 0) {
    }
    loop.stop([&] { server.reset(); });
}
