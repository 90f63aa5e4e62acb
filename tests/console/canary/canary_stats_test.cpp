#include "console/canary/canary_stats.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::console;
using namespace std::chrono_literals;

TEST_CASE("percentiles cover the pushes that arrived") {
    CanaryStats stats{"ws://edge-1:8080/"};
    CHECK(stats.percentile(0.5) == std::nullopt);
    for (int i = 1; i <= 100; ++i) stats.add({.took = i * 1ms});
    for (int i = 0; i < 20; ++i) stats.add({.why = "accepted, but not received in time"});
    CHECK(stats.percentile(0.01) == 1ms);
    CHECK(stats.percentile(0.5) == 50ms);
    CHECK(stats.percentile(0.99) == 99ms);
    CHECK(stats.percentile(1) == 100ms);
}

TEST_CASE("the page shows the present state and the last failure") {
    CanaryStats stats{"ws://edge-1:8080/"};
    CHECK(stats.json()["state"] == "starting");
    stats.add({.why = "refused"});
    CHECK(stats.json()["state"] == "failing");
    stats.add({.took = 1'500us});
    const auto page = stats.json();
    CHECK(page["state"] == "well");
    CHECK(page["sent"] == 2);
    CHECK(page["failed"] == 1);
    CHECK(page["last_failure"] == "refused");
    CHECK(page["pushes"][0]["ms"].is_null());
    CHECK(page["pushes"][1]["ms"] == 1.5);
}

TEST_CASE("a canary that runs for a year remembers the last hour") {
    CanaryStats stats{"ws://edge-1:8080/"};
    for (std::size_t i = 0; i < 3 * CanaryStats::kPushesMax; ++i) stats.add({.took = 1ms});
    CHECK(stats.json()["pushes"].size() == CanaryStats::kPushesMax);
    CHECK(stats.json()["sent"] == 3 * CanaryStats::kPushesMax);
}
