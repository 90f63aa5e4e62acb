#include "ops/ops_server.hpp"

#include "support/test_socket.hpp"

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <httplib.h>

using namespace beckon::ops;
using beckon::test::TestSocket;

namespace {

struct Running {
    Metrics metrics;
    Health health;
    OpsServer server{{.port = 0, .version = "1.2.3"}, metrics, health};
    httplib::Client client{"127.0.0.1", server.port()};
};

}  // namespace

TEST_CASE("readiness follows the parts, liveness does not") {
    Running running;
    running.health.set_ready("edge", false, "no broker");
    CHECK(running.client.Get("/ready")->status == 503);
    CHECK_THAT(running.client.Get("/ready")->body, Catch::Contains("no broker"));
    CHECK(running.client.Get("/__heartbeat__")->status == 503);
    CHECK(running.client.Get("/live")->status == 200);
    running.health.set_ready("edge", true);
    CHECK(running.client.Get("/ready")->status == 200);
    CHECK(running.client.Get("/ready")->body == R"({"status":"OK","version":"1.2.3"})");
}

TEST_CASE("metrics come in Prometheus' text format, one family for all labels") {
    Running running;
    running.metrics.counter("beckon_test_total", "What is counted.", {{"kind", "a"}}).Increment(3);
    running.metrics.counter("beckon_test_total", "What is counted.", {{"kind", "b"}}).Increment();
    const auto reply = running.client.Get("/metrics");
    CHECK(reply->get_header_value("Content-Type") == "text/plain; version=0.0.4; charset=utf-8");
    CHECK_THAT(reply->body, Catch::Contains("# TYPE beckon_test_total counter\n"));
    CHECK_THAT(reply->body, Catch::Contains("beckon_test_total{kind=\"a\"} 3\n"));
    CHECK_THAT(reply->body, Catch::Contains("beckon_test_total{kind=\"b\"} 1\n"));
}

TEST_CASE("a port that is taken is named with its option") {
    Running running;
    OpsConfig same;
    same.port = running.server.port();
    CHECK_THROWS_WITH(
        OpsServer(same, running.metrics, running.health),
        Catch::Contains(std::to_string(running.server.port())) && Catch::Contains("--ops-port"));
}

TEST_CASE("the readiness of each part is a metric") {
    Running running;
    running.health.set_ready("edge", false, "no broker");
    running.health.set_ready("endpoint", true);
    const auto text = running.client.Get("/metrics")->body;
    CHECK_THAT(text, Catch::Contains("# TYPE beckon_ready gauge\n"));
    CHECK_THAT(text, Catch::Contains("beckon_ready{part=\"edge\"} 0\n"));
    CHECK_THAT(text, Catch::Contains("beckon_ready{part=\"endpoint\"} 1\n"));
}

TEST_CASE("a request that is neither GET nor HEAD is refused before its body is read") {
    Running running;
    TestSocket given{running.server.port()};
    REQUIRE(
        given.send("POST /live HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"));
    CHECK(given.read_reply().status == 405);
    TestSocket chunked{running.server.port()};
    REQUIRE(chunked.send(
        "PUT /live HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"));
    CHECK(chunked.read_reply().status == 405);
    TestSocket get{running.server.port()};
    REQUIRE(get.send("GET /live HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"));
    CHECK(get.read_reply().status == 413);
    CHECK(running.client.Head("/live")->status == 200);
}

TEST_CASE("/live answers while other requests wait") {
    Running running;
    std::vector<TestSocket> others;
    for (int i = 0; i < 200; ++i) {
        others.emplace_back(running.server.port());
        REQUIRE(others.back().send(i % 2 == 0 ? "GET /metrics HTTP/1.1\r\nX: " : ""));
    }
    TestSocket probe{running.server.port()};
    REQUIRE(probe.send("GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    CHECK(probe.read_reply().status == 200);
}

TEST_CASE("a part of the process answers below its prefix, until its mount ends") {
    Running running;
    {
        const auto mount =
            running.server.mount("/part", [](std::string_view path, const Query& query) {
                if (path == "/none") return Page{.status = 404, .body = "{}"};
                const auto day = query.find("day");
                return Page{.type = "text/plain",
                            .body = std::string{path} + " " +
                                    (day == query.end() ? "no day" : day->second)};
            });
        CHECK(running.client.Get("/part/page?day=today")->body == "/page today");
        CHECK(running.client.Get("/part/page")->body == "/page no day");
        CHECK(running.client.Get("/part/page")->get_header_value("Content-Type") == "text/plain");
        CHECK(running.client.Get("/part/a%20page%?day=1%2C2")->body == "/a page% 1,2");
        CHECK(running.client.Head("/part/page")->status == 200);
        CHECK(running.client.Get("/part/none")->status == 404);
        CHECK(running.client.Get("/partner/page")->status == 404);
        CHECK(running.client.Get("/live")->status == 200);  // its own pages stay
    }
    CHECK(running.client.Get("/part/page")->status == 404);
}

TEST_CASE("a page may be made by another thread, and the port waits for nobody") {
    Running running;
    std::promise<PageDone> asked;
    std::string authorization;
    const auto mount = running.server.mount_late("/late", [&](LateRequest request, PageDone done) {
        authorization = request.authorization + " " + request.path + " " + request.query["a"];
        asked.set_value(std::move(done));
    });
    auto reply = std::async(std::launch::async, [&] {
        httplib::Client client{"127.0.0.1", running.server.port()};
        return client.Get("/late/page?a=%31", {{"Authorization", "Bearer me"}});
    });
    const auto done = asked.get_future().get();
    CHECK(authorization == "Bearer me /page 1");
    CHECK(running.client.Get("/live")->status == 200);
    done({.status = 202, .type = "text/plain", .body = "later"});
    const auto page = reply.get();
    REQUIRE(page);
    CHECK(page->status == 202);
    CHECK(page->body == "later");
}

TEST_CASE("a page that comes after the server's end goes nowhere") {
    PageDone done;
    {
        Running running;
        std::promise<void> asked;
        const auto mount = running.server.mount_late("/late", [&](const LateRequest&, PageDone to) {
            done = std::move(to);
            asked.set_value();
        });
        TestSocket socket{running.server.port()};
        socket.send("GET /late/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
        asked.get_future().wait();
    }
    done({.body = "nobody reads it"});
}

TEST_CASE("pages made by other threads are bounded, and there is space again later") {
    Running running;
    std::vector<PageDone> open;
    std::promise<void> full;
    std::atomic<bool> at_once{false};
    const auto mount = running.server.mount_late("/late", [&](const LateRequest&, PageDone done) {
        if (at_once) return done({});
        open.push_back(std::move(done));
        if (open.size() == 16) full.set_value();
    });
    std::vector<std::unique_ptr<TestSocket>> sockets;
    for (int i = 0; i < 16; ++i) {
        sockets.push_back(std::make_unique<TestSocket>(running.server.port()));
        sockets.back()->send("GET /late/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    full.get_future().wait();
    CHECK(running.client.Get("/late/")->status == 503);
    CHECK(running.client.Get("/live")->status == 200);
    at_once = true;
    for (const auto& done : open) done({});
    for (const auto& socket : sockets) CHECK(socket->read_reply().status == 200);
    CHECK(running.client.Get("/late/")->status == 200);
}

TEST_CASE("a refused request does not reach the maker of a page") {
    Running running;
    std::atomic<int> asked{0};
    const auto late = running.server.mount_late("/late", [&](const LateRequest&, PageDone done) {
        ++asked;
        done({});
    });
    CHECK(running.client.Get("/late/", {{"Host", "evil.example"}})->status == 421);
    CHECK(asked == 0);
    CHECK(running.client.Get("/late/")->status == 200);
    CHECK(asked == 1);
}

TEST_CASE("a port that others can reach is asked by any name") {
    Metrics metrics;
    Health health;
    OpsServer server{{.host = "0.0.0.0", .port = 0, .version = "1"}, metrics, health};
    httplib::Client client{"127.0.0.1", server.port()};
    CHECK(client.Get("/live", {{"Host", "beckon-edge-0.monitoring:9090"}})->status == 200);
    CHECK(client.Get("/live", {{"Origin", "https://evil.example"}})->status == 403);
}

TEST_CASE("a page whose maker throws is 500, is counted, and takes nobody's place") {
    Running running;
    const auto page = running.server.mount("/bad", [](std::string_view, const Query&) -> Page {
        throw std::runtime_error("no page");
    });
    const auto late = running.server.mount_late(
        "/late", [](LateRequest, PageDone) { throw std::runtime_error("no page"); });
    for (int i = 0; i < 20; ++i) {  // more than may be under way
        CHECK(running.client.Get("/late/page")->status == 500);
        CHECK(running.client.Get("/bad/page")->status == 500);
    }
    CHECK(running.client.Get("/live")->status == 200);
    CHECK_THAT(running.client.Get("/metrics")->body,
               Catch::Contains("# TYPE beckon_failed_requests_total counter\n") &&
                   Catch::Contains("beckon_failed_requests_total{place=\"ops\"} 40\n"));
}
