#include "ops/loop_watch.hpp"

#include <chrono>
#include <optional>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using beckon::core::Duration;
using beckon::ops::Health;
using beckon::ops::WatchedLoop;
using beckon::ops::why_stalled;

TEST_CASE("a loop that has not turned for some time is stalled") {
    CHECK(why_stalled("edge-0", 2'999ms, 3s).empty());
    CHECK(why_stalled("edge-0", 3s, 3s) == "the loop edge-0 has been stalled for 3 s");
    CHECK(why_stalled("edge-0", 61s, 3s) == "the loop edge-0 has been stalled for 61 s");
}

TEST_CASE("a loop is dead after its time, whoever asks, and live when it turns again") {
    Health health;
    health.set_ready("edge", true);
    Duration first{};
    Duration second{};
    const WatchedLoop one{health, "edge", "edge-0", [&] { return first; }};
    const WatchedLoop other{health, "edge", "edge-1", [&] { return second; }, 15s};
    first = 60s;
    second = 15s;
    CHECK(health.report().live);
    first += 1ms;
    second += 1ms;
    CHECK_FALSE(health.report().live);
    CHECK_FALSE(health.report().ready);
    CHECK(health.report().faults.at("edge: the loop edge-0") == "the loop edge-0 hangs");
    CHECK(health.report().faults.at("edge: the loop edge-1") == "the loop edge-1 hangs");
    first = 1ms;
    CHECK_FALSE(health.report().live);
    second = 1ms;
    CHECK(health.report().live);
    CHECK(health.report().ready);
}

TEST_CASE("a loop that turns does not withdraw other reports about its part") {
    Health health;
    const WatchedLoop loop{health, "edge", "edge-0", [] { return Duration{1ms}; }};
    health.set_dead("edge", "the store takes nothing more");
    CHECK_FALSE(health.report().live);
}

TEST_CASE("a loop that has ended is not asked any more") {
    Health health;
    std::optional<WatchedLoop> loop;
    loop.emplace(health, "edge", "edge-0", [] { return Duration{2min}; });
    CHECK_FALSE(health.report().live);
    loop.reset();
    CHECK(health.report().live);
}
