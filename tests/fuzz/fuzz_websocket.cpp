// The WebSocket port with any input: upgrade requests, and frames behind a good upgrade. No bytes
// crash it, no connection outlives its deadlines, and the front gets only whole texts of a bounded
// size from open clients.
//
// The first byte of the input: bit 0 puts a good upgrade first, the others say how the rest is cut.
#include "edge/ws/ws_server.hpp"
#include "fuzz/require.hpp"
#include "net/listener.hpp"
#include "ops/metrics.hpp"
#include "support/manual_clock.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <ev.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <sys/socket.h>

using namespace beckon;
using namespace std::chrono_literals;
using test::require;

namespace {

constexpr std::string_view kUpgrade =
    "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
constexpr std::size_t kFrameMax = 1'024;

/// Sends back what it gets.
struct Echo final : edge::ClientEvents {
    void opened(edge::Client& client) override {
        require(!open);
        open = &client;
    }
    void text(edge::Client& client, std::string_view frame) override {
        require(open == &client && frame.size() <= kFrameMax);
        if (!frame.empty()) sockets->send(client, std::string{frame});
    }
    void pong(edge::Client& client) override { require(open == &client); }
    void timer(edge::Client& client) override { require(open == &client); }
    void gone(edge::Client&) override { open = nullptr; }

    edge::Sockets* sockets = nullptr;
    edge::Client* open = nullptr;
};

edge::EdgeOptions options() {
    edge::EdgeOptions out;
    out.frames_per_second_max = 0;
    out.frame_bytes_max = kFrameMax;
    return out;
}

struct World {
    World()
        : server(options(), {}, loop, admission, {metrics}, [] { return edge::MonitorStatus{}; }) {
        echo.sockets = &server;
        server.serve(echo, std::move(net::listen_shared({}).front()));
    }

    void turn() { ev_run(loop.native(), EVRUN_NOWAIT); }

    void converse(std::string_view bytes, std::size_t piece) {
        int ends[2];
        require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
        net::Descriptor client{ends[1]};
        server.adopt(ends[0], {});
        std::array<char, 4'096> received;
        while (!bytes.empty()) {
            const auto n = std::min(piece, bytes.size());
            if (::send(client.get(), bytes.data(), n, MSG_NOSIGNAL) < 0) break;
            bytes.remove_prefix(n);
            for (int i = 0; i < 3; ++i) turn();
            while (::recv(client.get(), received.data(), received.size(), 0) > 0) {
            }
        }
        client.reset();
        for (int i = 0; i < 20 && server.open() > 0; ++i) {
            turn();
            clock.advance(10s);
            loop.wheel().advance(clock.mono());
        }
        require(server.open() == 0 && !echo.open);
    }

    test::ManualClock clock;
    ops::Metrics metrics;
    edge::ShardLoop loop{"fuzz", clock};
    net::Admission admission{{}};
    Echo echo;
    edge::WsServer server;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    static auto& world = *new World;  // lws wants a loop that has ended; this one never does
    std::string bytes{(data[0] & 1) != 0 ? kUpgrade : std::string_view{}};
    bytes.append(reinterpret_cast<const char*>(data + 1), size - 1);
    world.converse(bytes, 1 + (data[0] >> 1) * 8U);
    return 0;
}
