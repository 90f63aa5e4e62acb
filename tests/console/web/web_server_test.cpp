#include "console/web/web_server.hpp"

#include "console/web/login.hpp"
#include "core/clock.hpp"
#include "core/contain.hpp"
#include "support/test_socket.hpp"

#include <functional>
#include <list>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <httplib.h>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::console;
using Catch::Contains;
using test::TestSocket;

namespace {

const std::string kToken = "0123456789abcdef0123";
constexpr const char* kJson = "application/json";

struct Port {
    explicit Port(const std::string& token = {})
        : server({.host = "127.0.0.1", .port = 0, .token = token},
                 {pages,
                  clock,
                  {{"find", echo},
                   {"hold", hold()},
                   {"forget", [](const auto&, const auto&) {}},
                   {"throw", fail}},
                  {{"paint", act()}}}),
          client("127.0.0.1", server.port()) {}

    static void echo(const Parameters& asked, const Reply& reply) {
        const auto text = asked.find("q");
        reply({200, "\"" + (text == asked.end() ? "" : text->second) + "\""});
    }
    static void fail(const Parameters&, const Reply&) {
        throw std::runtime_error("the page is torn");
    }
    /// A query that the test answers when it likes.
    Ask hold() {
        return [this](const Parameters&, Reply reply) {
            const std::scoped_lock lock{mutex};
            held.push_back(std::move(reply));
        };
    }
    std::size_t holds() {
        const std::scoped_lock lock{mutex};
        return held.size();
    }
    void answer_all() {
        const std::scoped_lock lock{mutex};
        for (const auto& reply : held) reply({200, "1"});
        held.clear();
    }
    /// Would paint the colour that it is given; "nothing" cannot be painted.
    Act act() {
        return {[](const std::string& wanted, const std::function<void(Plan)>& planned) {
                    if (wanted == "\"nothing\"") return planned({{200, "0"}});
                    planned({{200, "1"}, wanted});
                },
                [this](const std::string& order, const std::string&, const Reply& reply) {
                    painted.push_back(order);
                    reply({200, "{}"});
                }};
    }
    TestSocket ask(const std::string& target, const std::string& headers = {}) const {
        TestSocket socket{server.port()};
        REQUIRE(
            socket.send("GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n"));
        return socket;
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
    std::mutex mutex;
    std::vector<Reply> held;  ///< under mutex
    WebServer server;
    httplib::Client client;
};

/// Reads until a text has come; false: the connection ended before.
bool receives(TestSocket& socket, std::string_view text) {
    std::string all;
    while (all.find(text) == std::string::npos) {
        const auto more = socket.receive();
        if (!more || more->empty()) return false;
        all += *more;
    }
    return true;
}

}  // namespace

TEST_CASE("the app is served with headers that let nothing else in") {
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

TEST_CASE("replies are not compressed") {
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

TEST_CASE("a page is 503 until it is known") {
    Port port;
    for (const auto* name : {"status", "overview", "nodes", "lag", "lag_hour"}) {
        CHECK(port.client.Get(std::string{"/api/pages/"} + name)->status == 503);
    }
    const auto none = port.client.Get("/api/pages/lags");
    CHECK(none->status == 404);
    CHECK(none->body ==
          R"({"error":"there is no such page; there are status, overview, nodes, lag, lag_hour, )"
          R"(tiers, dead, cluster, milestones, webhooks, senders and canary"})");
    port.pages.publish("lag", "{\"rows\":[]}");
    const auto reply = port.client.Get("/api/pages/lag");
    CHECK(reply->status == 200);
    CHECK(reply->body == "{\"rows\":[]}");
    CHECK(reply->get_header_value("Cache-Control") == "no-store");
}

TEST_CASE("every page of the API's document is one that may become known") {
    Port port;
    const auto document = port.client.Get("/openapi.yaml");
    REQUIRE(document);
    const std::string begin = "schema: {type: string, enum: [status, ";
    const auto at = document->body.find(begin);
    REQUIRE(at != std::string::npos);
    const auto list = document->body.find('[', at) + 1;
    std::istringstream names{document->body.substr(list, document->body.find(']', at) - list)};
    int pages = 0;
    for (std::string name; std::getline(names >> std::ws, name, ','); ++pages) {
        CAPTURE(name);
        const auto reply = port.client.Get("/api/pages/" + name);
        REQUIRE(reply);
        CHECK(reply->status == 503);
    }
    CHECK(pages == 12);
}

TEST_CASE("a stream sends each change, and ends with the server") {
    Port port;
    port.pages.publish("lag", "1");
    std::string received;
    port.client.set_read_timeout(60);
    const auto reply =
        port.client.Get("/api/live?pages=lag,cluster", [&](const char* data, std::size_t size) {
            received.append(data, size);
            if (received.find("data: 1") != std::string::npos) {
                port.pages.publish("lag", "2");
            }
            return received.find("data: 2") == std::string::npos;
        });
    CHECK_THAT(received,
               Contains("event: lag\ndata: 1\n\n") && Contains("event: lag\ndata: 2\n\n"));
}

TEST_CASE("with a token nothing but the app and the login answers without it") {
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
    for (const std::string scheme : {"Bearer", "bearer", "BEARER", "bEaReR"}) {
        const httplib::Headers bearer{{"Authorization", scheme + " " + kToken}};
        CHECK(port.client.Get("/api/pages/lag", bearer)->status == 200);
        const httplib::Headers wrong{{"Authorization", scheme + " " + kToken + "x"}};
        CHECK(port.client.Get("/api/pages/lag", wrong)->status == 401);
    }
}

// Verified to fail where a session is all that the token has signed.
TEST_CASE("a session that logs out is none any more, wherever its cookie is kept") {
    Port port{kToken};
    port.pages.publish("lag", "1");
    const auto session = port.log_in();
    const auto other = port.log_in();
    auto stream = port.ask("/api/live?pages=lag", "Cookie: " + session.begin()->second + "\r\n");
    REQUIRE(receives(stream, "data: 1"));
    const auto out = port.client.Post("/logout", session, "", kJson);
    REQUIRE(out);
    CHECK(out->status == 200);
    CHECK_THAT(out->get_header_value("Set-Cookie"), Contains("Max-Age=0"));
    CHECK(port.client.Get("/api/pages/lag", session)->status == 401);
    CHECK(receives(stream, "0\r\n\r\n"));
    CHECK(port.client.Get("/api/pages/lag", other)->status == 200);
}

// Verified to fail where all addresses share one limit and the right token counts like any other.
TEST_CASE("an address that tries wrong tokens has to wait, and the right token is never refused") {
    Port port{kToken};
    port.pages.publish("lag", "1");
    const httplib::Headers wrong{{"Authorization", "Bearer no"}};
    for (std::size_t i = 0; i < Login::kWrongMax; ++i) {
        CHECK(port.client.Get("/api/pages/lag", wrong)->status == 401);
    }
    CHECK(port.client.Get("/api/pages/lag", wrong)->status == 429);
    CHECK(port.client.Post("/login", R"({"token":"no"})", kJson)->status == 429);
    const httplib::Headers right{{"Authorization", "Bearer " + kToken}};
    CHECK(port.client.Get("/api/pages/lag", right)->status == 200);
    CHECK(port.client.Get("/api/pages/lag", port.log_in())->status == 200);
}

TEST_CASE("our cookie is found among others") {
    Port port{kToken};
    port.pages.publish("lag", "1");
    const auto mine = port.log_in().begin()->second;
    const auto status = [&](const std::string& cookies) {
        return port.client.Get("/api/pages/lag", httplib::Headers{{"Cookie", cookies}})->status;
    };
    CHECK(status("a=b; " + mine + "; c=d") == 200);
    CHECK(status("x" + mine) == 401);
    CHECK(status("a=" + mine) == 401);
    CHECK(status("beckon_console") == 401);
}

TEST_CASE("the app's document shows whether its browser is logged in, and has another ETag then") {
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

TEST_CASE("without a token only names of this host are answered") {
    Port port;
    CHECK(port.client.Get("/", httplib::Headers{{"Host", "evil.example"}})->status == 421);
    CHECK(port.client.Get("/", httplib::Headers{{"Host", "localhost:8085"}})->status == 200);
    CHECK(port.client.Get("/", httplib::Headers{{"Host", "[::1]:8085"}})->status == 200);
    // Verified to fail where any host that begins with "127." passes.
    for (const auto* host : {"127.0.0.1.evil.example", "127.evil.example:8085"}) {
        CAPTURE(host);
        for (const auto* path : {"/", "/api/pages/lag", "/api/find?q=x", "/api/live?pages=lag"}) {
            CHECK(port.client.Get(path, httplib::Headers{{"Host", host}})->status == 421);
        }
    }
    Port closed{kToken};  // which trusts no caller for its address
    CHECK(closed.client.Get("/", httplib::Headers{{"Host", "push.example.org"}})->status == 200);
}

TEST_CASE("requests that are too large, of another site or of another method are refused") {
    Port port{kToken};
    const std::string large(WebServer::kBodyBytesMax + 1, 'x');
    CHECK(port.client.Post("/login", large, "application/json")->status == 413);
    const httplib::Headers foreign{{"Origin", "https://evil.example"}};
    CHECK(port.client.Post("/login", foreign, "{}", "application/json")->status == 403);
    CHECK(port.client.Delete("/api/pages/lag")->status == 405);
    CHECK(port.client.Get(("/api/find?q=" + std::string(4'000, 'x')).c_str())->status == 431);
}

TEST_CASE("an act is done only as it was shown to the session that confirms it") {
    Port port{kToken};
    const auto session = port.log_in();
    const auto shown = port.client.Post("/api/acts/paint/check", session, "\"red\"", kJson);
    REQUIRE(shown->status == 200);
    CHECK_THAT(shown->body, Contains("\"plan\":1"));
    CHECK(port.painted.empty());
    const auto shown_plan = nlohmann::json::parse(shown->body);
    const auto confirm = [&](const httplib::Headers& by, const std::string& text) {
        return port.client
            .Post("/api/acts/paint", by, nlohmann::json{{"confirmation", text}}.dump(), kJson)
            ->status;
    };
    const auto text = shown_plan["confirmation"].get<std::string>();
    CHECK(confirm(session, text + "!") == 409);
    CHECK(confirm({{"Authorization", "Bearer " + kToken}}, text) == 409);  // another session
    CHECK(confirm({}, text) == 401);
    CHECK(port.client.Post("/api/acts/paint", session, "\"red\"", kJson)->status == 409);
    CHECK(port.painted.empty());
    CHECK(confirm(session, text) == 200);
    CHECK(port.painted == std::vector<std::string>{"\"red\""});
}

TEST_CASE("a plan of nothing has nothing to confirm") {
    Port port{kToken};
    const auto shown =
        port.client.Post("/api/acts/paint/check", port.log_in(), "\"nothing\"", kJson);
    CHECK(shown->body == R"({"plan":0,"confirmation":null})");
}

TEST_CASE("no other site can act, and nobody can without a token") {
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

TEST_CASE("streams beyond the bound are refused until some have ended") {
    Port port;
    port.pages.publish("lag", "1");
    std::list<TestSocket> streams;
    while (streams.size() < WebServer::kStreamsMax) {
        streams.push_back(port.ask("/api/live?pages=lag"));
        REQUIRE(receives(streams.back(), "data: 1"));
    }
    CHECK(port.ask("/api/live?pages=lag").read_reply().status == 503);
    CHECK(port.client.Get("/api/pages/lag")->status == 200);
    port.pages.publish("lag", "2");
    for (auto& stream : streams) CHECK(receives(stream, "data: 2"));
    streams.clear();
    // Until the server notices that they have gone.
    while (port.ask("/api/live?pages=lag").read_reply().status == 503) std::this_thread::yield();
}

// Verified to fail where a connection has a thread to itself, or reading a request has no end.
TEST_CASE("connections that are slow, or say nothing, keep nobody out") {
    constexpr std::size_t kTooMany = 200;
    Port port;
    port.pages.publish("lag", "1");
    std::list<TestSocket> others;
    for (std::size_t i = 0; i < WebServer::kConnectionsMax + kTooMany; ++i) {
        others.emplace_back(port.server.port());
        REQUIRE(others.back().send(i % 2 == 0 ? "GET / HTTP/1.1\r\nX: " : ""));
    }
    CHECK(port.ask("/api/pages/lag").read_reply().status == 200);
    CHECK(port.ask("/").read_reply().status == 200);
}

TEST_CASE("a header without an end is refused, and its bytes are not kept") {
    Port port;
    TestSocket socket{port.server.port()};
    socket.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(100'000, 'x'));
    CHECK(socket.read_reply().status == 431);
}

TEST_CASE("a slow query delays no other") {
    Port port;
    port.pages.publish("lag", "1");
    auto slow = port.ask("/api/hold");
    while (port.holds() == 0) std::this_thread::yield();
    CHECK(port.client.Get("/api/pages/lag")->status == 200);
    CHECK(port.ask("/api/find?q=a%20b+c").read_reply().body == "\"a b c\"");
    port.answer_all();
    CHECK(slow.read_reply().status == 200);
}

// Fails where nobody answers, or the exception ends the process.
TEST_CASE("a request whose handler throws gets a 500, and others their answer") {
    Port port;
    const auto counted = [] {
        std::uint64_t sum = 0;
        for (const auto& one : core::thrown_by_place()) sum += one.second;
        return sum;
    };
    const auto before = counted();
    const auto failed = port.ask("/api/throw").read_reply();
    CHECK(failed.status == 500);
    CHECK(failed.body == R"({"error":"this request failed; the log says why"})");
    CHECK(failed.body.find("torn") == std::string::npos);  // that is for the log
    CHECK(counted() == before + 1);
    CHECK(port.ask("/api/find?q=a").read_reply().status == 200);
}

TEST_CASE("an unanswered query gets a 503") {
    Port port;
    const auto reply = port.client.Get("/api/forget");
    REQUIRE(reply);
    CHECK(reply->status == 503);
    CHECK_THAT(reply->body, Contains("nobody has answered"));
}

TEST_CASE("open queries beyond the bound are refused until some are answered") {
    Port port;
    std::list<TestSocket> sockets;
    while (sockets.size() < WebServer::kAskedMax) sockets.push_back(port.ask("/api/hold"));
    while (port.holds() < WebServer::kAskedMax) std::this_thread::yield();
    CHECK(port.ask("/api/find?q=x").read_reply().status == 503);
    port.answer_all();
    for (auto& socket : sockets) CHECK(socket.read_reply().status == 200);
    CHECK(port.ask("/api/find?q=x").read_reply().status == 200);
}

TEST_CASE("a reply that comes after the server's end goes nowhere") {
    Reply late;
    {
        Port port;
        auto socket = port.ask("/api/hold");
        while (port.holds() == 0) std::this_thread::yield();
        late = port.held.front();
    }
    late({200, "nobody reads it"});
}

TEST_CASE("an unknown page, and a wrong method, have an error of their own") {
    Port port;
    const auto status = [&](const char* path) { return port.client.Get(path)->status; };
    CHECK(status("/api/nothing") == 404);
    CHECK(status("/api/") == 404);
    CHECK(status("/nothing") == 404);
    CHECK(status("/login") == 405);
    CHECK(port.client.Post("/api/find?q=x", "", kJson)->status == 405);
    CHECK(port.client.Post("/", "", kJson)->get_header_value("Allow") == "GET, HEAD");
    const auto head = port.client.Head("/");
    CHECK(head->status == 200);
    CHECK(head->body.empty());
    CHECK_THAT(head->get_header_value("Content-Security-Policy"), Contains("default-src 'none'"));
}
