#include "support/front_alone.hpp"

#include <algorithm>
#include <array>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using World = test::FrontAlone;

TEST_CASE("10,000 clients that come together are pinged evenly over a quarter of the interval") {
    constexpr int kClients = 10'000;
    constexpr auto kInterval = 300s;
    constexpr auto kSlot = 1s;
    World world;
    std::array<int, kInterval / kSlot + 1> due{};
    for (int i = 0; i < kClients; ++i) {
        world.identified("{}");
        const auto after = world.sockets.timers.back();
        REQUIRE(after <= kInterval);
        REQUIRE(after >= kInterval * 3 / 4);
        ++due.at(static_cast<std::size_t>(after / kSlot));
    }
    // 75 slots share them.
    CHECK(*std::max_element(due.begin(), due.end()) <= 2 * kClients / 75);
}

TEST_CASE("each pong begins another interval") {
    World world;
    auto& client = world.identified("{}");
    world.front.timer(client);
    CHECK(world.sockets.timers.back() == 4s);  // for the pong
    world.front.pong(client);
    CHECK(world.sockets.timers.back() >= 225s);
    world.front.timer(client);
    world.front.timer(client);
    CHECK(world.sockets.closed == 1);
}
