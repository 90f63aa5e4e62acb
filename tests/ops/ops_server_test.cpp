#include "ops/ops_server.hpp"

#include <catch2/catch.hpp>
#include <httplib.h>

using namespace beckon::ops;

namespace {

struct Running {
    Metrics metrics;
    Health health;
    OpsServer server{{.port = 0, .version = "1.2.3"}, metrics, health};
    httplib::Client client{"127.0.0.1", server.port()};
};

}  // namespace

TEST_CASE("readiness follows the parts, liveness does not", "[ops_server]") {
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

TEST_CASE("metrics come in Prometheus' text format, one family for all labels", "[ops_server]") {
    Running running;
    running.metrics.counter("beckon_test_total", "What is counted.", {{"kind", "a"}}).Increment(3);
    running.metrics.counter("beckon_test_total", "What is counted.", {{"kind", "b"}}).Increment();
    const auto reply = running.client.Get("/metrics");
    CHECK(reply->get_header_value("Content-Type") == "text/plain; version=0.0.4; charset=utf-8");
    CHECK_THAT(reply->body, Catch::Contains("# TYPE beckon_test_total counter\n"));
    CHECK_THAT(reply->body, Catch::Contains("beckon_test_total{kind=\"a\"} 3\n"));
    CHECK_THAT(reply->body, Catch::Contains("beckon_test_total{kind=\"b\"} 1\n"));
}

TEST_CASE("a port that is taken is named with its option", "[ops_server]") {
    Running running;
    OpsConfig same;
    same.port = running.server.port();
    CHECK_THROWS_WITH(
        OpsServer(same, running.metrics, running.health),
        Catch::Contains(std::to_string(running.server.port())) && Catch::Contains("--ops-port"));
}
