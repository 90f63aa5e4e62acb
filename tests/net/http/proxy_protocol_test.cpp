#include "net/http/http_server.hpp"
#include "support/test_socket.hpp"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::net;
using test::TestSocket;

namespace {

constexpr std::string_view kAsk = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kHeader = "PROXY TCP4 192.0.2.7 127.0.0.1 5000 80\r\n";

/// Says who asks.
struct Handler final : HttpHandler {
    void handle(ExchangePtr exchange) override {
        HttpReply reply;
        reply.status = 200;
        reply.body = to_string(exchange->request().peer);
        exchange->reply(std::move(reply));
    }
    HttpReply rejection(Rejection) override {
        HttpReply reply;
        reply.status = 503;
        return reply;
    }
};

struct Counts final : HttpObserver {
    void opened() override {}
    void closed(CloseReason reason) override {
        if (reason == CloseReason::proxy_header) ++refused;
        if (reason == CloseReason::deadline) ++late;
    }
    void turned_away(CloseReason) override {}
    void accept_paused() override {}
    std::atomic<int> refused{0};
    std::atomic<int> late{0};
};

HttpServerOptions behind_proxy(const std::string& proxy = "127.0.0.0/8") {
    HttpServerOptions options;
    options.proxies = TrustedProxies{{proxy}};
    options.proxy_protocol = true;
    options.connections.per_address_max = 1;
    options.times.request = std::chrono::milliseconds{200};
    return options;
}

struct Running {
    explicit Running(HttpServerOptions options) : server(std::move(options), counts) {
        server.start([](core::Executor&) { return std::make_unique<Handler>(); });
    }
    TestSocket connect() const { return TestSocket{server.port()}; }

    Counts counts;
    HttpServer server;
};

}  // namespace

TEST_CASE("a trusted proxy's connection is its client's") {
    Running running{behind_proxy()};
    auto socket = running.connect();
    for (const char byte : kHeader) REQUIRE(socket.send({&byte, 1}));
    REQUIRE(socket.send(kAsk));
    CHECK(socket.read_reply().body == "192.0.2.7");
    // Limits are the client's: it has one connection already, another client has none.
    auto second = running.connect();
    REQUIRE(second.send(std::string{kHeader} + std::string{kAsk}));
    CHECK(second.read_reply().status == 503);
    auto other = running.connect();
    REQUIRE(other.send("PROXY TCP4 192.0.2.8 127.0.0.1 5000 80\r\n" + std::string{kAsk}));
    CHECK(other.read_reply().body == "192.0.2.8");
}

TEST_CASE("a trusted proxy's connection without a header is closed") {
    Running running{behind_proxy()};
    auto socket = running.connect();
    REQUIRE(socket.send(kAsk));
    CHECK(socket.ends_or_is_reset());
    running.server.join();
    CHECK(running.counts.refused == 1);
}

TEST_CASE("a header that does not come in time is not waited for") {
    Running running{behind_proxy()};
    auto socket = running.connect();
    REQUIRE(socket.send(kHeader.substr(0, 10)));
    CHECK(socket.ends_or_is_reset());
    running.server.join();
    CHECK(running.counts.late == 1);
}

TEST_CASE("a peer that is no trusted proxy sends no header, and is not believed") {
    auto options = behind_proxy("10.0.0.0/8");
    options.connections.per_address_max = 0;
    Running running{std::move(options)};
    auto socket = running.connect();
    REQUIRE(socket.send(kAsk));
    CHECK(socket.read_reply().body == "127.0.0.1");
    auto liar = running.connect();
    REQUIRE(liar.send(std::string{kHeader} + std::string{kAsk}));
    CHECK(liar.read_reply().status == 503);  // it is no request
}
