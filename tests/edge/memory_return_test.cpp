#include "edge/memory_return.hpp"

#include "support/test_executor.hpp"

#include <chrono>

#include <catch2/catch.hpp>

namespace beckon::edge {

namespace {

/// Counts how often memory is given back while clients come and go.
struct ReturnWorld {
    /// So many clients are there for a time.
    void stay(std::size_t now, core::Duration time) {
        clients = now;
        executor.run_for(time);
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::size_t clients = 0;
    int given_back = 0;
    MemoryReturn memory{{.executor = executor,
                         .clock = clock,
                         .clients = [this] { return clients; },
                         .give_back = [this] { ++given_back; }}};
};

constexpr auto kMany = MemoryReturn::kManyClients;
constexpr core::Duration kShort = MemoryReturn::kLookEvery;
constexpr core::Duration kLong = MemoryReturn::kQuiet + MemoryReturn::kLookEvery;

}  // namespace

TEST_CASE("memory is given back once, some seconds after many clients have left", "[edge]") {
    ReturnWorld world;
    world.stay(kMany * 10, kShort);
    for (std::size_t left = 9; left > 0; --left) world.stay(kMany * left, kShort);
    world.stay(0, kShort);
    CHECK(world.given_back == 0);  // more might leave
    world.stay(0, kLong);
    CHECK(world.given_back == 1);
    world.stay(0, std::chrono::minutes{10});
    CHECK(world.given_back == 1);
}

TEST_CASE("few clients that leave change nothing, however often", "[edge]") {
    ReturnWorld world;
    for (int i = 0; i < 100; ++i) {
        world.stay(kMany * 2, kLong);
        world.stay(kMany + 1, kLong);
    }
    CHECK(world.given_back == 0);
}

TEST_CASE("few that leave at a time are many in the end", "[edge]") {
    ReturnWorld world;
    world.stay(kMany * 2, kLong);
    world.stay(kMany + 1, kLong);
    CHECK(world.given_back == 0);
    world.stay(kMany, kLong);
    CHECK(world.given_back == 1);
}

TEST_CASE("where many come and go all the time, memory is given back once a minute", "[edge]") {
    ReturnWorld world;
    const auto began = world.clock.mono();
    while (world.clock.mono() - began < 3 * MemoryReturn::kAtMostEvery) {
        world.stay(kMany, kShort);
        world.stay(0, kLong);
    }
    CHECK(world.given_back >= 2);
    CHECK(world.given_back <= 3);
}

}  // namespace beckon::edge
