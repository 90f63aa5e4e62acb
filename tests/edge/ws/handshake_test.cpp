#include "edge/ws/handshake.hpp"

#include <functional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using edge::size_of_head;

namespace {

const std::vector<std::string> kAnywhere;
const std::function<edge::MonitorStatus()> kMonitor = [] {
    return edge::MonitorStatus{.version = "1", .connections = 0};
};

const std::string kHost = "Host: x\r\n";
const std::string kVersion = "Sec-WebSocket-Version: 13\r\n";
const std::string kKey = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const std::string kUpgrade = "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n";

auto judged(const std::string& head) {
    return edge::judge_head(head, {.path = "/", .allowed_origins = kAnywhere, .monitor = kMonitor});
}

std::string request(const std::string& line, const std::string& headers = kHost) {
    return line + " HTTP/1.1\r\n" + headers + "\r\n";
}

/// Of the answer; 101: it is a handshake.
int status(const std::string& head) {
    const auto result = judged(head);
    return result ? 101 : result.error().reply.status;
}

int status_of_upgrade(const std::string& headers, const std::string& line = "GET /") {
    return status(request(line, headers));
}

}  // namespace

TEST_CASE("a whole handshake is libwebsockets'") {
    const auto rest = kHost + kVersion + kKey;
    CHECK(status_of_upgrade(kUpgrade + rest) == 101);
    CHECK(status_of_upgrade("UPGRADE: WebSocket\r\nConnection: a\r\nConnection: upgrade\r\n" +
                            rest) == 101);
    CHECK(status_of_upgrade(kUpgrade + rest, "GET ws://push.example/?a=b") == 101);
    CHECK(status_of_upgrade(kUpgrade + rest, "GET /other") == 404);
}

TEST_CASE("a handshake that lacks something is told what") {
    CHECK(status_of_upgrade(kUpgrade + kHost + kVersion) == 400);
    CHECK(status_of_upgrade(kUpgrade + kHost + kVersion + "Sec-WebSocket-Key: \r\n") == 400);
    CHECK(status_of_upgrade(kUpgrade + kHost + kVersion + "Sec-WebSocket-Key: short\r\n") == 400);
    CHECK(status_of_upgrade(kUpgrade + kHost + kVersion + kKey + kKey) == 400);
    CHECK(status_of_upgrade("Upgrade: websocket\r\n" + kHost + kVersion + kKey) == 400);
    CHECK(status_of_upgrade(kUpgrade + kVersion + kKey) == 400);
    CHECK(status_of_upgrade(kUpgrade + "Host:\r\n" + kVersion + kKey) == 400);
    CHECK(status_of_upgrade(kUpgrade + kHost + kVersion + kKey +
                            "Sec-WebSocket-Extensions: " + std::string(255, 'x') + "\r\n") == 431);
    CHECK(status_of_upgrade(kUpgrade + kHost + kVersion + kKey +
                            "Connection: " + std::string(127, 'x') + "\r\n") == 431);
}

TEST_CASE("a handshake of another version is told ours") {
    for (const std::string version :
         {"", "Sec-WebSocket-Version: 8\r\n", "Sec-WebSocket-Version: 13, 8\r\n"}) {
        CAPTURE(version);
        const auto result = judged(request("GET /", kUpgrade + kHost + kKey + version));
        REQUIRE_FALSE(result);
        CHECK(result.error().reply.status == 426);
        CHECK(result.error().reply.header("Sec-WebSocket-Version") == "13");
        CHECK(result.error().reply.header("Upgrade") == "websocket");
    }
}

TEST_CASE("an upgrade to anything else is not asked for") {
    for (const std::string other : {"h2c", "websocket, h2c", "WebSockets", "TLS/1.0"}) {
        CAPTURE(other);
        const auto headers = "Upgrade: " + other + "\r\nConnection: Upgrade, HTTP2-Settings\r\n" +
                             "HTTP2-Settings: AAMAAABkAAQAAP__\r\n" + kHost;
        CHECK(status(request("GET /status", headers)) == 200);
        CHECK(status(request("GET /", headers)) == 426);
    }
    const auto whole = kUpgrade + kHost + kVersion + kKey + "\r\n";
    CHECK(status("GET / HTTP/1.0\r\n" + whole) == 426);
    CHECK(status("HEAD / HTTP/1.1\r\n" + whole) == 426);
}

TEST_CASE("a plain request is answered by its path and method") {
    CHECK(status(request("GET /status")) == 200);
    CHECK(status(request("GET /status?a=b")) == 200);
    CHECK(status(request("GET http://x:1/status?a=b")) == 200);
    CHECK(status("\r\n\r\n" + request("GET /status")) == 200);
    CHECK(status(request("GET /status", "Host:\r\n")) == 200);
    CHECK(status("GET /status HTTP/1.0\r\n\r\n") == 200);
    CHECK(status(request("GET /nothing")) == 404);
    CHECK(status(request("GET https://x")) == 426);
    for (const std::string path : {"/status", "/health", "/__version__?x=y", "/", "/nothing"}) {
        CAPTURE(path);
        CHECK(judged(request("GET HTTPS://push.example:80" + path)).error().reply ==
              judged(request("GET " + path)).error().reply);
    }
    CHECK(status(request("GET /status", kHost + "Content-Length: 0\r\n")) == 200);
    for (const std::string method : {"POST", "PUT", "DELETE", "PATCH", "CONNECT", "BREW"}) {
        const auto result = judged(request(method + " /status"));
        REQUIRE_FALSE(result);
        CHECK(result.error().reply.status == 405);
        CHECK(to_wire(result.error()).find("Allow: GET, HEAD\r\n") != std::string::npos);
    }
    for (const std::string target : {"*", "/", "/status"}) {
        const auto result = judged(request("OPTIONS " + target));
        REQUIRE_FALSE(result);
        CHECK(result.error().reply.status == 204);
        CHECK(to_wire(result.error()).ends_with("\r\n\r\n"));
    }
}

TEST_CASE("the answer to HEAD is that to GET without its body") {
    for (const std::string path : {"/status", "/", "/nothing", "/__version__"}) {
        CAPTURE(path);
        const auto get = judged(request("GET " + path));
        const auto head = judged(request("HEAD " + path));
        REQUIRE_FALSE(get);
        REQUIRE_FALSE(head);
        CHECK(head.error().reply == get.error().reply);
        const auto wire = to_wire(get.error());
        CHECK(to_wire(head.error()) == wire.substr(0, wire.find("\r\n\r\n") + 4));
    }
}

TEST_CASE("a head with two meanings, or none, is refused") {
    const std::string begin = "GET /status HTTP/1.1\r\n";
    for (const std::string rest :
         {"\r\n", "Host: x\r\nHost: y\r\n\r\n", "Host: x\r\nContent-Length: 5\r\n\r\n",
          "Host: x\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\n",
          "Host: x\r\nContent-Length: 0, 5\r\n\r\n", "Host: x\r\nContent-Length: +0\r\n\r\n",
          "Host: x\r\nTransfer-Encoding: x\r\nContent-Length: 0\r\n\r\n",
          "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n", "Host: x\r\n Folded: y\r\n\r\n",
          "Host: x\r\nNo name: y\r\n\r\n", "Host: x\n\n", "Host : x\r\n\r\n"}) {
        CAPTURE(rest);
        CHECK(status(begin + rest) == 400);
    }
    for (const std::string line : {"GET  /status", "GET status", "GET", "", "\x16\x03\x01 abc",
                                   "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET /"}) {
        CAPTURE(line);
        CHECK(status(request(line)) == 400);
    }
    CHECK(status(request("GET /", kHost + "X: " + std::string(17'000, 'x') + "\r\n")) == 431);
}

TEST_CASE("a head ends at its first empty line") {
    const auto head = request("GET /status");
    CHECK(size_of_head(head + "GET /next") == head.size());
    CHECK(size_of_head("\r\n\r\n" + head) == head.size() + 4);
    CHECK(size_of_head("GET / HTTP/1.1\nHost: x\n\nmore") == 24);
    for (std::size_t size = 0; size < head.size(); ++size) {
        CAPTURE(size);
        CHECK_FALSE(size_of_head(head.substr(0, size)));
    }
}
