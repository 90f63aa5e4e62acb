#include "net/http/http_server.hpp"

#include "core/contain.hpp"
#include "core/logger.hpp"
#include "net/io_loop.hpp"
#include "support/test_socket.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::net;
using test::TestSocket;

namespace {

constexpr std::string_view kThrow = "GET /throw HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kNow = "GET /now HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kLater = "GET /later HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kLarge = "GET /large HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kNever = "GET /never HTTP/1.1\r\nHost: x\r\n\r\n";

HttpReply reply_of(int status) {
    HttpReply reply;
    reply.status = status;
    return reply;
}

/// Takes 50 us.
constexpr std::string_view kBusy = "GET /busy HTTP/1.1\r\nHost: x\r\n\r\n";
/// The reply's body is the number of kBusy that were handled.
constexpr std::string_view kSeen = "GET /seen HTTP/1.1\r\nHost: x\r\n\r\n";
std::atomic<int> busy_handled{0};

/// The replies to kLarge whose memory is not free yet.
std::atomic<int> large_held{0};

class Handler final : public HttpHandler {
public:
    explicit Handler(core::Executor& loop) : loop_(loop) {}

    void handle(ExchangePtr exchange) override {
        const auto target = exchange->request().target;
        if (target == "/throw") throw std::bad_alloc{};
        if (target == "/keep-and-throw") {
            kept_.push_back(std::move(exchange));
            loop_.post_after(std::chrono::milliseconds{1},
                             [this] { kept_.back()->reply(reply_of(202)); });
            throw std::runtime_error{"after it was kept"};
        }
        if (target == "/throw-later") {
            loop_.post_after(std::chrono::milliseconds{1}, [exchange] {
                if (exchange) throw std::runtime_error{"later"};
            });
            return exchange->reply(reply_of(204));
        }
        if (target == "/busy") {
            const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds{50};
            while (std::chrono::steady_clock::now() < until) {
            }
            ++busy_handled;
            return exchange->reply(reply_of(200));
        }
        if (target == "/seen") {
            auto reply = reply_of(200);
            reply.body = std::to_string(busy_handled);
            return exchange->reply(std::move(reply));
        }
        if (target == "/now") return exchange->reply(reply_of(200));
        if (target == "/close") {
            auto last = reply_of(401);
            last.add("Connection", "close");
            return exchange->reply(std::move(last));
        }
        if (target == "/large") return exchange->reply(large());
        if (target == "/never") return kept_.push_back(std::move(exchange));
        loop_.post_after(std::chrono::milliseconds{1},
                         [exchange] { exchange->reply(reply_of(201)); });
    }
    HttpReply rejection(Rejection why) override {
        if (why == Rejection::failed) return reply_of(500);
        return reply_of(why == Rejection::bad_host ? 400 : 503);
    }

private:
    /// More than the kernel takes for a peer that reads nothing.
    static HttpReply large() {
        auto reply = reply_of(200);
        reply.body = std::string(std::size_t{16} << 20, 'x');
        ++large_held;
        reply.held = std::shared_ptr<const void>{nullptr, [](const void*) { --large_held; }};
        return reply;
    }

    core::Executor& loop_;
    std::vector<ExchangePtr> kept_;
};

struct Counts final : HttpObserver {
    void opened() override { ++open; }
    void closed(CloseReason) override { --open; }
    void turned_away(CloseReason) override { ++turned_away_; }
    void accept_paused() override {}
    std::atomic<int> open{0};
    std::atomic<int> turned_away_{0};
};

struct Running {
    explicit Running(HttpServerOptions options = {}) : server(std::move(options), counts) {
        core::configure_logging(core::LogLevel::error, core::LogFormat::text);
        server.start([](core::Executor& loop) { return std::make_unique<Handler>(loop); });
    }
    TestSocket connect() const { return TestSocket{server.port()}; }

    Counts counts;
    HttpServer server;
};

}  // namespace

TEST_CASE("a handler replies at once or in a later turn") {
    Running running;
    auto socket = running.connect();
    REQUIRE(socket.send(std::string{kLater} + std::string{kNow} + std::string{kLater}));
    CHECK(socket.read_reply().status == 201);
    CHECK(socket.read_reply().status == 200);
    CHECK(socket.read_reply().status == 201);
}

TEST_CASE("HEAD, 100-continue and the end of a client's output") {
    Running running;
    auto socket = running.connect();
    REQUIRE(socket.send("HEAD /seen HTTP/1.1\r\nHost: x\r\n\r\n"));
    const auto bytes = socket.receive().value_or("");
    CHECK(bytes.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(bytes.ends_with("\r\n\r\n"));
    REQUIRE(
        socket.send("POST /now HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                    "Content-Length: 4\r\n\r\n"));
    CHECK(socket.read_reply().head == "HTTP/1.1 100 Continue\r\n\r\n");
    REQUIRE(socket.send("data" + std::string{kLater}));
    socket.end_output();
    CHECK(socket.read_reply().status == 200);
    CHECK(socket.read_reply().status == 201);
    CHECK(socket.ends());
}

TEST_CASE("connections that pipeline hold up no other") {
    constexpr int kPeers = 30;
    constexpr int kRequests = 400;
    Running running;
    auto other = running.connect();
    REQUIRE(other.send(kNow));
    REQUIRE(other.read_reply().status == 200);
    busy_handled = 0;
    std::string many;
    for (int i = 0; i < kRequests; ++i) many += kBusy;
    std::vector<TestSocket> peers;
    for (int i = 0; i < kPeers; ++i) {
        peers.push_back(running.connect());
        REQUIRE(peers.back().send(many));
    }
    for (int i = 0; i < 5; ++i) {
        REQUIRE(other.send(kSeen));
        const int before = busy_handled;
        const int meanwhile = std::stoi(other.read_reply().body) - before;
        CHECK(meanwhile < kPeers * 5);
    }
    CHECK(busy_handled < kPeers * kRequests);  // they pipeline still
}

TEST_CASE("every reply has a date, also one that no handler makes") {
    Running running;
    for (const auto request : {kNow, kLater, std::string_view{"GET / HTTP/1.1\r\n\r\n"}}) {
        auto socket = running.connect();
        REQUIRE(socket.send(request));
        const auto reply = socket.read_reply();
        CHECK(reply.head.find("\r\nDate: ") != std::string::npos);
        CHECK(reply.head.find(" GMT\r\n") != std::string::npos);
    }
}

TEST_CASE("a request whose handler throws is answered 500, and nobody else notices") {
    HttpServerOptions options;
    options.name = "throwing";
    Running running{options};
    auto other = running.connect();
    REQUIRE(other.send(kNow));
    CHECK(other.read_reply().status == 200);
    for (int i = 0; i < 3; ++i) {
        auto socket = running.connect();
        REQUIRE(socket.send(std::string{kThrow} + std::string{kNow}));
        CHECK(socket.read_reply().status == 500);
        CHECK(socket.ends());
    }
    CHECK(core::thrown_by_place()["throwing"] == 3);
    REQUIRE(other.send(kLater));
    CHECK(other.read_reply().status == 201);
}

TEST_CASE("a reply that a handler kept before it threw answers nobody") {
    Running running;
    auto socket = running.connect();
    REQUIRE(socket.send("GET /keep-and-throw HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(socket.read_reply().status == 500);
    CHECK(socket.ends());
    auto later = running.connect();
    REQUIRE(later.send("GET /throw-later HTTP/1.1\r\nHost: x\r\n\r\n"));
    CHECK(later.read_reply().status == 204);
    REQUIRE(later.send(kLater));
    CHECK(later.read_reply().status == 201);
}

TEST_CASE("a request without a host is rejected") {
    Running running;
    auto socket = running.connect();
    REQUIRE(socket.send("GET /now HTTP/1.1\r\n\r\n"));
    CHECK(socket.read_reply().status == 400);
    CHECK(socket.ends());
}

TEST_CASE("a full server refuses new connections, or closes the one that has waited longest") {
    HttpServerOptions options;
    options.connections = {.total_max = 2};
    SECTION("turned away") {
        Running running{options};
        auto first = running.connect();
        REQUIRE(first.send(kNow));
        CHECK(first.read_reply().status == 200);
        auto second = running.connect();
        REQUIRE(second.send(kNow));
        CHECK(second.read_reply().status == 200);
        CHECK(running.connect().read_reply().status == 503);
        CHECK(running.counts.turned_away_ == 1);
        REQUIRE(first.send(kNow));
        CHECK(first.read_reply().status == 200);
    }
    SECTION("replaced") {
        options.when_full = WhenFull::replace_oldest;
        Running running{options};
        auto busy = running.connect();
        REQUIRE(busy.send(kNever));  // the handler has it: its peer is not waited for
        auto idle = running.connect();
        REQUIRE(idle.send(kNow));
        CHECK(idle.read_reply().status == 200);
        auto newcomer = running.connect();
        REQUIRE(newcomer.send(kNow));
        CHECK(newcomer.read_reply().status == 200);
        CHECK(idle.ends_or_is_reset());
        CHECK(running.counts.open == 2);
    }
    SECTION("replaced, where its peer does not read the reply") {
        options.when_full = WhenFull::replace_oldest;
        options.connections.total_max = 1;
        Running running{options};
        auto deaf = running.connect();
        REQUIRE(deaf.send(kLarge));
        while (large_held == 0) std::this_thread::yield();
        auto newcomer = running.connect();
        REQUIRE(newcomer.send(kNow));
        CHECK(newcomer.read_reply().status == 200);
        CHECK(large_held == 0);
        CHECK(running.counts.open == 1);
    }
    SECTION("replaced, where another has begun its request since") {
        options.when_full = WhenFull::replace_oldest;
        options.times.answer = std::chrono::seconds{30};
        Running running{options};
        auto deaf = running.connect();
        REQUIRE(deaf.send(kLarge));
        while (large_held == 0) std::this_thread::yield();
        auto slow = running.connect();
        REQUIRE(slow.send(kNow.substr(0, 9)));
        while (running.counts.open < 2) std::this_thread::yield();
        auto newcomer = running.connect();
        REQUIRE(newcomer.send(kNow));
        CHECK(newcomer.read_reply().status == 200);
        REQUIRE(slow.send(kNow.substr(9)));
        CHECK(slow.read_reply().status == 200);
        CHECK(large_held == 0);
    }
}

TEST_CASE("a reply that says so is the last of its connection") {
    Running running;
    auto socket = running.connect();
    REQUIRE(socket.send("GET /close HTTP/1.1\r\nHost: x\r\n\r\n" + std::string{kNow}));
    const auto reply = socket.read_reply();
    CHECK(reply.status == 401);
    const auto first = reply.head.find("\r\nConnection: close\r\n");
    CHECK(first != std::string::npos);
    CHECK(reply.head.find("Connection", first + 3) == std::string::npos);
    CHECK(socket.ends());
}

TEST_CASE("what a reply holds is kept until it is written") {
    Running running;
    auto socket = running.connect();
    REQUIRE(socket.send(kLarge));
    while (large_held == 0) std::this_thread::yield();
    CHECK(large_held == 1);
    CHECK(socket.read_reply().body.size() == std::size_t{16} << 20);
    REQUIRE(socket.send(kNow));
    CHECK(socket.read_reply().status == 200);
    CHECK(large_held == 0);
}

TEST_CASE("a stop answers what no handler has answered in time") {
    HttpServerOptions options;
    options.drain = std::chrono::milliseconds{50};
    Running running{options};
    auto socket = running.connect();
    REQUIRE(socket.send(kNever));
    auto answered = running.connect();
    REQUIRE(answered.send(kNow));
    CHECK(answered.read_reply().status == 200);
    running.server.join();
    CHECK(socket.read_reply().status == 503);
    running.server.join();  // idempotent
}

TEST_CASE("a task that throws does not end its loop") {
    core::configure_logging(core::LogLevel::error, core::LogFormat::text);
    IoLoop loop;
    bool later = false;
    loop.post([] { throw std::bad_alloc{}; });
    loop.post([&] {
        later = true;
        loop.stop();
    });
    std::thread{[&] { loop.run("test"); }}.join();
    CHECK(later);
}
