#include "core/logger.hpp"
#include "net/http/http_server.hpp"
#include "support/test_socket.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::net;
using test::TestSocket;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kPieceBytes = 50'000;

/// The script of a test's stream, and its state. Shared with the server's thread.
struct Script {
    /// Of the n-th call of next(), from 0; on the server's thread.
    std::function<BodyStream::Next(int number, std::string& out)> next;
    std::function<void()> wake{};  ///< of the server's thread
    std::atomic<int> asked{0};
    std::atomic<int> alive{0};
    core::Executor* loop = nullptr;
};

class Scripted final : public BodyStream {
public:
    explicit Scripted(Script& script) : script_(script) { ++script_.alive; }
    ~Scripted() override { --script_.alive; }
    void start(std::function<void()> wake) override { script_.wake = std::move(wake); }
    Next next(std::string& out) override { return script_.next(script_.asked++, out); }

private:
    Script& script_;
};

struct Streamer final : HttpHandler {
    explicit Streamer(Script& s) : script(s) {}
    void handle(ExchangePtr exchange) override {
        HttpReply reply;
        if (exchange->request().target != "/plain") {
            reply.stream = std::make_shared<Scripted>(script);
        }
        exchange->reply(std::move(reply));
    }
    HttpReply rejection(Rejection) override { return {}; }
    Script& script;
};

struct Running {
    explicit Running(Script& script, HttpServerOptions options = {})
        : server(std::move(options), counts) {
        core::configure_logging(core::LogLevel::error, core::LogFormat::text);
        server.start([&](core::Executor& loop) {
            script.loop = &loop;
            return std::make_unique<Streamer>(script);
        });
    }
    NobodyCounts counts;
    HttpServer server;
};

BodyStream::Next two_pieces(int number, std::string& out) {
    out = number == 0 ? "one" : "and two";
    return number == 0 ? BodyStream::Next::piece : BodyStream::Next::ended;
}

std::string request(const char* target, const char* method = "GET", const char* version = "1.1") {
    return std::string{method} + " " + target + " HTTP/" + version + "\r\nHost: x\r\n\r\n";
}

/// All that comes until `end` has come or the connection ends.
std::string received(TestSocket& socket, std::string_view end) {
    std::string all;
    while (all.find(end) == std::string::npos) {
        const auto more = socket.receive();
        if (!more || more->empty()) return all;
        all += *more;
    }
    return all;
}

void wait_until_gone(const Script& script) {
    while (script.alive > 0) std::this_thread::yield();
}

}  // namespace

TEST_CASE("a reply in pieces comes in chunks, and the connection goes on") {
    Script script{.next = two_pieces};
    Running running{script};
    TestSocket socket{running.server.port()};
    REQUIRE(socket.send(request("/") + request("/plain")));  // the second waits behind the first
    const auto all = received(socket, "Content-Length");
    CHECK_THAT(all, Catch::Contains("Transfer-Encoding: chunked\r\n\r\n"
                                    "3\r\none\r\n7\r\nand two\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n"));
    CHECK(script.alive == 0);
}

TEST_CASE("a client without chunks gets the pieces as they are, until the end of the connection") {
    Script script{.next = two_pieces};
    Running running{script};
    TestSocket socket{running.server.port()};
    REQUIRE(socket.send(request("/", "GET", "1.0")));
    const auto all = received(socket, "nothing says so");
    CHECK_THAT(all, Catch::EndsWith("Connection: close\r\n\r\noneand two"));
    CHECK_THAT(all, !Catch::Contains("chunked"));
}

TEST_CASE("HEAD of a stream asks for no piece") {
    Script script{.next = two_pieces};
    Running running{script};
    TestSocket socket{running.server.port()};
    REQUIRE(socket.send(request("/", "HEAD") + request("/plain")));
    const auto all = received(socket, "Content-Length");
    CHECK_THAT(all, Catch::Contains("chunked\r\n\r\nHTTP/1.1 200"));
    CHECK(script.asked == 0);
    wait_until_gone(script);
}

TEST_CASE("a waiting stream is asked again when it wakes its connection") {
    Script script{.next = [](int number, std::string& out) {
        if (number % 2 == 0) return BodyStream::Next::waiting;
        out = "piece " + std::to_string(number);
        return BodyStream::Next::piece;
    }};
    Running running{script};
    TestSocket socket{running.server.port()};
    REQUIRE(socket.send(request("/")));
    received(socket, "\r\n\r\n");
    for (int i = 1; i < 9; i += 2) {
        while (script.asked < i) std::this_thread::yield();
        script.loop->post([&] { script.wake(); });
        CHECK_THAT(received(socket, "\r\n"), Catch::StartsWith("7\r\npiece " + std::to_string(i)));
    }
}

// Verified to fail where a stream is checked only when it writes.
TEST_CASE("a reader that leaves ends its stream, though nothing is written") {
    Script script{.next = [](int, std::string&) { return BodyStream::Next::waiting; }};
    Running running{script};
    {
        TestSocket socket{running.server.port()};
        REQUIRE(socket.send(request("/")));
        received(socket, "\r\n\r\n");
    }
    wait_until_gone(script);
    script.loop->post([&] { script.wake(); });  // goes nowhere
    TestSocket other{running.server.port()};
    REQUIRE(other.send(request("/plain")));
    CHECK(other.read_reply().status == 200);
}

TEST_CASE("a reader that reads nothing makes nobody collect anything, and is closed") {
    Script script{.next = [](int, std::string& out) {
        out.assign(kPieceBytes, 'x');
        return BodyStream::Next::piece;
    }};
    HttpServerOptions options;
    options.times.request = 300ms;
    Running running{script, options};
    TestSocket socket{running.server.port()};
    REQUIRE(socket.send(request("/")));
    wait_until_gone(script);
    // As many pieces as the kernel keeps for both ends, not an endless stream.
    CHECK(script.asked < 500);
}

TEST_CASE("a stream that sends nothing for too long is closed") {
    Script script{.next = [](int, std::string&) { return BodyStream::Next::waiting; }};
    HttpServerOptions options;
    options.times.request = 100ms;
    Running running{script, options};
    TestSocket socket{running.server.port()};
    REQUIRE(socket.send(request("/")));
    received(socket, "\r\n\r\n");
    CHECK(socket.ends_or_is_reset());
    wait_until_gone(script);
}

TEST_CASE("a stop ends streams in order") {
    Script script{.next = [](int, std::string&) { return BodyStream::Next::waiting; }};
    Running running{script};
    TestSocket socket{running.server.port()};
    REQUIRE(socket.send(request("/")));
    received(socket, "\r\n\r\n");
    running.server.begin_stop();
    CHECK_THAT(received(socket, "nothing says so"), Catch::EndsWith("0\r\n\r\n"));
    wait_until_gone(script);
}

TEST_CASE("a stream that throws ends its connection alone") {
    Script script{.next = [](int, std::string&) -> BodyStream::Next { throw std::bad_alloc{}; }};
    Running running{script};
    TestSocket socket{running.server.port()};
    REQUIRE(socket.send(request("/")));
    while (socket.receive().value_or("") != "") {
    }
    wait_until_gone(script);
    TestSocket other{running.server.port()};
    REQUIRE(other.send(request("/plain")));
    CHECK(other.read_reply().status == 200);
}
