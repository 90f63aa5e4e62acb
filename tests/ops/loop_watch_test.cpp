#include "ops/loop_watch.hpp"

#include <chrono>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using beckon::ops::Health;
using beckon::ops::LoopWatch;

TEST_CASE("a loop that has not come round is stalled, and dead after a minute", "[health]") {
    Health health;
    const LoopWatch watch{health, "edge", 3s};
    CHECK(watch.why_stalled("edge-0", 2'999ms).empty());
    CHECK(watch.why_stalled("edge-0", 3s) == "the loop edge-0 has been stalled for 3 s");
    CHECK(watch.why_stalled("edge-0", 60s) == "the loop edge-0 has been stalled for 60 s");
    CHECK(health.report().live);
    CHECK(watch.why_stalled("edge-0", 60'001ms) == "the loop edge-0 has been stalled for 60 s");
    CHECK_FALSE(health.report().live);
    CHECK(health.report().faults.at("edge: the loop edge-0") == "the loop edge-0 hangs");
}

TEST_CASE("a loop that was dead is live when it turns again, and each by itself", "[health]") {
    Health health;
    health.set_ready("edge", true);
    const LoopWatch watch{health, "edge", 3s};
    watch.why_stalled("edge-0", 61s);
    watch.why_stalled("edge-1", 61s);
    CHECK(watch.why_stalled("edge-0", 1ms).empty());
    CHECK_FALSE(health.report().live);
    CHECK(watch.why_stalled("edge-1", 1ms).empty());
    CHECK(health.report().live);
    CHECK(health.report().ready);
}

TEST_CASE("a loop that turns does not withdraw other reports about its part", "[health]") {
    Health health;
    const LoopWatch watch{health, "edge", 3s};
    health.set_dead("edge", "the store takes nothing more");
    CHECK(watch.why_stalled("edge-0", 1ms).empty());
    CHECK_FALSE(health.report().live);
}
