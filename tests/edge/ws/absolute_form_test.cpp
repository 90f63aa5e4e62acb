#include "edge/ws/absolute_form.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using edge::judge_head;
using Kind = edge::HeadVerdict::Kind;

namespace {

const std::string kHost = "Host: x\r\n\r\n";
const std::string kPlain = "GET http://x/status?a=b HTTP/1.1\r\n" + kHost;
const std::string kUpgrade = "GET http://x/ HTTP/1.1\r\nUPGRADE: websocket\r\n" + kHost;

}  // namespace

TEST_CASE("a target in absolute form without an upgrade is answered by its path", "[edge][ws]") {
    const auto verdict = judge_head(kPlain + "GET /next");
    CHECK(verdict.kind == Kind::plain);
    CHECK(verdict.path == "/status");
    CHECK(verdict.bytes == kPlain.size());
    CHECK(judge_head("\r\n\r\n" + kPlain).path == "/status");
    CHECK(judge_head("HEAD https://x HTTP/1.1\r\n" + kHost).path == "/");
}

TEST_CASE("every other head is libwebsockets'", "[edge][ws]") {
    for (const auto& head :
         {std::string{"GET /"}, std::string{"GET /status HTTP/1.1\r\n"}, std::string{"OPTIONS *"},
          std::string{"GET  http://x/"}, std::string(17, 'x'),
          std::string{"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\n"},
          "GET " + std::string(17, 'x'), "GET " + std::string(17, 'x') + "://x/status HTTP/1.1\r\n",
          std::string{"\x16\x03\x01 abc"}, "CONNECT x:443 HTTP/1.1\r\n" + kHost,
          "GET ws://x/ HTTP/1.1\r\n" + kHost, kUpgrade}) {
        CAPTURE(head);
        CHECK(judge_head(head).kind == Kind::library);
    }
}

TEST_CASE("each beginning of a head in absolute form is incomplete", "[edge][ws]") {
    for (const auto& head : {kPlain, kUpgrade}) {
        for (std::size_t size = 0; size < head.size(); ++size) {
            CAPTURE(size);
            CHECK(judge_head(head.substr(0, size)).kind == Kind::incomplete);
        }
    }
}

TEST_CASE("a head in absolute form is parsed only when its end has come", "[edge][ws]") {
    const std::string begin = "GET http://x/status HTTP/1.1\r\n";
    for (const auto& wrong : {"Host: x\r\nHost: y\r\n", "No name: y\r\n", "Host: x\n"}) {
        CAPTURE(wrong);
        CHECK(judge_head(begin + wrong).kind == Kind::incomplete);
        CHECK(judge_head(begin + wrong + "\r\n").kind == Kind::refused);
        CHECK(judge_head(begin + wrong + "\n").kind == Kind::refused);
    }
}

TEST_CASE("a head in absolute form with two meanings is refused", "[edge][ws]") {
    const std::string begin = "GET http://x/status HTTP/1.1\r\n";
    for (const auto& rest :
         {"\r\n", "Host: x\r\nHost: y\r\n\r\n", "Host: x\r\nContent-Length: 5\r\n\r\n",
          "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n",
          "Host: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "Host: x\r\n Folded: y\r\n\r\n",
          "Host: x\r\nNo name: y\r\n\r\n"}) {
        CAPTURE(rest);
        const auto verdict = judge_head(begin + rest);
        CHECK(verdict.kind == Kind::refused);
        CHECK(verdict.bytes > 0);
    }
}
