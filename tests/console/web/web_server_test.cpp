#include "console/web/web_server.hpp"

#include "core/clock.hpp"
#include "support/test_socket.hpp"

#include <atomic>
#include <future>
#include <list>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <httplib.h>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::console;
using Catch::Contains;

namespace {

const std::string kToken = "0123456789abcdef0123";
constexpr const char* kJson = "application/json";

struct Port {
    explicit Port(const std::string& token = {})
        : server({.host = "127.0.0.1", .port = 0, .token = token},
                 {pages, clock, {{"find", &echo}, {"hold", hold()}}, {{"paint", act()}}}),
          client("127.0.0.1", server.port()) {}

    static Answer echo(const Parameters& asked) { return {200, "\"" + asked.at("q") + "\""}; }
    /// Answers once it may.
    Ask hold() {
        return [this](const Parameters&) {
            ++held;
            may_answer.wait();
            return Answer{200, "1"};
        };
    }
    /// Would paint what it is told; "nothing" cannot be painted.
    Act act() {
        return {[](const std::string& wanted) {
                    if (wanted == "\"nothing\"") return Plan{{200, "0"}};
                    return Plan{{200, "1"}, wanted};
                },
                [this](const std::string& order, const std::string&) {
                    painted.push_back(order);
                    return Answer{200, "{}"};
                }};
    }
    /// The headers of a browser that is logged in.
    httplib::Headers log_in() {
        const auto in = client.Post("/login", "{\"token\":\"" + kToken + "\"}", kJson);
        REQUIRE(in);
        const auto cookie = in->get_header_value("Set-Cookie");
        return {{"Cookie", cookie.substr(0, cookie.find(';'))}};
    }

    core::SystemClock clock;
    LivePages pages;
    std::vector<std::string> painted;
    std::atomic<std::size_t> held{0};
    std::promise<void> answer_now;
    const std::shared_future<void> may_answer{answer_now.get_future()};
    WebServer server;
    httplib::Client client;
};

}  // namespace

TEST_CASE("the app is served with headers that let nothing else in", "[console]") {
    Port port;
    const auto reply = port.client.Get("/");
    REQUIRE(reply);
    CHECK(reply->status == 200);
    CHECK_THAT(reply->body, Contains("Beckon console"));
    const auto policy = reply->get_header_value("Content-Security-Policy");
    CHECK_THAT(policy, Contains("default-src 'none'") && !Contains("unsafe"));
    CHECK_THAT(policy, Contains("script-src 'sha256-") && Contains("style-src 'sha256-"));
    CHECK(reply->get_header_value("X-Content-Type-Options") == "nosniff");
    const auto again =
        port.client.Get("/", httplib::Headers{{"If-None-Match", reply->get_header_value("ETag")}});
    REQUIRE(again);
    CHECK(again->status == 304);
    REQUIRE(port.client.Get("/../etc/passwd"));
    CHECK(port.client.Get("/../etc/passwd")->status == 404);
}

// Verified to fail when the server may compress: Brotli at its slowest level, anew for each
// request.
TEST_CASE("what is sent is sent as it stands", "[console]") {
    Port port;
    port.pages.publish("lag", "\"" + std::string(20'000, 'x') + "\"");
    for (const auto* path : {"/", "/api/pages/lag"}) {
        CAPTURE(path);
        const auto reply = port.client.Get(path, {{"Accept-Encoding", "gzip, deflate, br"}});
        REQUIRE(reply);
        CHECK(reply->status == 200);
        CHECK_FALSE(reply->has_header("Content-Encoding"));
        CHECK(reply->get_header_value("Content-Length") == std::to_string(reply->body.size()));
    }
}

TEST_CASE("a page is 503 until it is known", "[console]") {
    Port port;
    CHECK(port.client.Get("/api/pages/lag")->status == 503);
    port.pages.publish("lag", "{\"rows\":[]}");
    const auto reply = port.client.Get("/api/pages/lag");
    CHECK(reply->status == 200);
    CHECK(reply->body == "{\"rows\":[]}");
    CHECK(reply->get_header_value("Cache-Control") == "no-store");
}

TEST_CASE("a stream tells each change, and ends with the server", "[console]") {
    Port port;
    port.pages.publish("lag", "1");
    std::string heard;
    port.client.set_read_timeout(60);
    const auto reply =
        port.client.Get("/api/live?pages=lag,cluster", [&](const char* data, std::size_t size) {
            heard.append(data, size);
            if (heard.find("data: 1") != std::string::npos) {
                port.pages.publish("lag", "2");
            }
            return heard.find("data: 2") == std::string::npos;
        });
    CHECK_THAT(heard, Contains("event: lag\ndata: 1\n\n") && Contains("event: lag\ndata: 2\n\n"));
}

TEST_CASE("with a token nothing but the app and the login answers without it", "[console]") {
    Port port{kToken};
    port.pages.publish("lag", "1");
    CHECK(port.client.Get("/")->status == 200);
    for (const auto* path : {"/api/pages/lag", "/api/live?pages=lag", "/api/find?q=x"}) {
        CHECK(port.client.Get(path)->status == 401);
    }
    CHECK(port.client.Post("/login", R"({"token":"wrong"})", "application/json")->status == 403);
    const auto in =
        port.client.Post("/login", "{\"token\":\"" + kToken + "\"}", "application/json");
    REQUIRE(in->status == 200);
    const auto cookie = in->get_header_value("Set-Cookie");
    CHECK_THAT(cookie, Contains("HttpOnly") && Contains("SameSite=Strict") && !Contains(kToken));
    const httplib::Headers session{{"Cookie", cookie.substr(0, cookie.find(';'))}};
    CHECK(port.client.Get("/api/pages/lag", session)->status == 200);
    const httplib::Headers bearer{{"Authorization", "Bearer " + kToken}};
    CHECK(port.client.Get("/api/pages/lag", bearer)->status == 200);
}

TEST_CASE("the app is told whether its browser is logged in, and is another one then",
          "[console]") {
    Port open;
    CHECK_THAT(open.client.Get("/")->body, Contains("data-session=\"open\""));
    Port port{kToken};
    const auto out = port.client.Get("/");
    CHECK_THAT(out->body, Contains("data-session=\"out\""));
    auto headers = port.log_in();
    headers.emplace("If-None-Match", out->get_header_value("ETag"));
    const auto in = port.client.Get("/", headers);
    CHECK(in->status == 200);
    CHECK_THAT(in->body, Contains("data-session=\"in\""));
}

TEST_CASE("without a token only names of this host are answered", "[console]") {
    Port port;
    CHECK(port.client.Get("/", httplib::Headers{{"Host", "evil.example"}})->status == 421);
    CHECK(port.client.Get("/", httplib::Headers{{"Host", "localhost:8085"}})->status == 200);
    CHECK(port.client.Get("/", httplib::Headers{{"Host", "[::1]:8085"}})->status == 200);
}

TEST_CASE("what is too large, of another site or of another method is refused", "[console]") {
    Port port{kToken};
    const std::string large(WebServer::kBodyBytesMax + 1, 'x');
    CHECK(port.client.Post("/login", large, "application/json")->status == 413);
    const httplib::Headers foreign{{"Origin", "https://evil.example"}};
    CHECK(port.client.Post("/login", foreign, "{}", "application/json")->status == 403);
    CHECK(port.client.Delete("/api/pages/lag")->status == 405);
    CHECK(port.client.Get(("/api/find?q=" + std::string(4'000, 'x')).c_str())->status == 431);
}

TEST_CASE("an act is done only as it was shown to whoever confirms it", "[console]") {
    Port port{kToken};
    const auto session = port.log_in();
    const auto shown = port.client.Post("/api/acts/paint/check", session, "\"red\"", kJson);
    REQUIRE(shown->status == 200);
    CHECK_THAT(shown->body, Contains("\"plan\":1"));
    CHECK(port.painted.empty());
    const auto said = nlohmann::json::parse(shown->body);
    const auto confirm = [&](const httplib::Headers& by, const std::string& text) {
        return port.client
            .Post("/api/acts/paint", by, nlohmann::json{{"confirmation", text}}.dump(), kJson)
            ->status;
    };
    const auto text = said["confirmation"].get<std::string>();
    CHECK(confirm(session, text + "!") == 409);
    CHECK(confirm({{"Authorization", "Bearer " + kToken}}, text) == 409);  // another session
    CHECK(confirm({}, text) == 401);
    CHECK(port.client.Post("/api/acts/paint", session, "\"red\"", kJson)->status == 409);
    CHECK(port.painted.empty());
    CHECK(confirm(session, text) == 200);
    CHECK(port.painted == std::vector<std::string>{"\"red\""});
}

TEST_CASE("a plan of nothing has nothing to confirm", "[console]") {
    Port port{kToken};
    const auto shown =
        port.client.Post("/api/acts/paint/check", port.log_in(), "\"nothing\"", kJson);
    CHECK(shown->body == R"({"plan":0,"confirmation":null})");
}

TEST_CASE("no other site can act, and nobody can without a token", "[console]") {
    Port port{kToken};
    auto session = port.log_in();
    CHECK(port.client.Post("/api/acts/paint/check", session, "\"red\"", "text/plain")->status ==
          415);
    session.emplace("Sec-Fetch-Site", "cross-site");
    CHECK(port.client.Post("/api/acts/paint/check", session, "\"red\"", kJson)->status == 403);
    Port open;
    const auto reply = open.client.Post("/api/acts/paint/check", "\"red\"", kJson);
    CHECK(reply->status == 403);
    CHECK_THAT(reply->body, Contains("console.token_file"));
}

TEST_CASE("streams leave threads for everybody else, and there is room again later", "[console]") {
    Port port;
    port.pages.publish("lag", "1");
    std::vector<std::unique_ptr<httplib::Client>> clients;
    std::vector<std::thread> readers;
    std::atomic<std::size_t> open{0};
    std::atomic<bool> end{false};
    for (std::size_t i = 0; i < WebServer::kStreamsMax; ++i) {
        clients.push_back(std::make_unique<httplib::Client>("127.0.0.1", port.server.port()));
        readers.emplace_back([&, client = clients.back().get()] {
            bool first = true;
            client->Get("/api/live?pages=lag", [&](const char*, std::size_t) {
                if (std::exchange(first, false)) ++open;
                return !end;
            });
        });
    }
    while (open < WebServer::kStreamsMax) std::this_thread::yield();
    CHECK(port.client.Get("/api/live?pages=lag")->status == 503);
    CHECK(port.client.Get("/api/pages/lag")->status == 200);
    end = true;
    port.pages.publish("lag", "2");
    for (auto& reader : readers) reader.join();
    int status = 503;  // until the server notices that they have gone
    while (status == 503) {
        port.client.Get(
            "/api/live?pages=lag",
            [&](const httplib::Response& reply) {
                status = reply.status;
                return false;
            },
            [](const char*, std::size_t) { return false; });
    }
    CHECK(status == 200);
}

TEST_CASE("connections beyond those that may wait for a thread wait too, and all are answered",
          "[console]") {
    constexpr std::size_t kTooMany = 10;
    Port port;
    const auto ask = [&](std::list<test::TestSocket>& sockets) {
        sockets.emplace_back(port.server.port());
        REQUIRE(
            sockets.back().send("GET /api/hold HTTP/1.1\r\nHost: localhost\r\n"
                                "Connection: close\r\n\r\n"));
    };
    std::list<test::TestSocket> sockets;
    while (sockets.size() < WebServer::kThreads) ask(sockets);
    while (port.held < WebServer::kThreads) std::this_thread::yield();
    for (std::size_t i = 0; i < WebServer::kConnectionsWaitingMax + kTooMany; ++i) ask(sockets);
    port.answer_now.set_value();
    for (auto& socket : sockets) CHECK(socket.read_reply().status == 200);
    CHECK(port.client.Get("/api/find?q=x")->status == 200);
}
