#include "edge/home/registration/gone_events.hpp"

#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using edge::GoneEvents;

namespace {

struct World {
    void tell(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            events.tell({.uaid = {},
                         .channel = core::ChannelId{core::random_uuid4()},
                         .owner = "vapid-0",
                         .endpoint = "https://push.example/wpush/" + std::to_string(i),
                         .reason = core::GoneReason::client_removed});
        }
    }
    std::size_t told() const { return log->records({log::Topic::kEvents, 0}).size(); }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log = log::make_memory_log(
        {.seed = 1, .partitions = 1, .clock = &clock, .append_delay_max = 4ms});
    std::unique_ptr<log::Publisher> publisher = log->open_publisher(executor);
    GoneEvents events{1, *publisher, executor};
};

}  // namespace

TEST_CASE("of many subscriptions that end at once few are under way, and all are told",
          "[edge][home][events]") {
    World world;
    world.tell(1'000);
    CHECK(world.publisher->unanswered() == GoneEvents::kInFlightMax);
    world.executor.run_for(1s);
    CHECK(world.told() == 1'000);
    CHECK(world.publisher->unanswered() == 0);
}

TEST_CASE("what the log does not take holds up nothing that comes after it",
          "[edge][home][events]") {
    World world;
    world.log->fail_next_publishes(100);
    world.tell(300);
    world.executor.run_for(1s);
    CHECK(world.told() == 200);
}

TEST_CASE("more than may wait are left out, and there is room again later",
          "[edge][home][events]") {
    constexpr auto kRoom = GoneEvents::kInFlightMax + GoneEvents::kWaitingMax;
    World world;
    world.tell(kRoom + 5);
    world.executor.run_for(10s);
    CHECK(world.told() == kRoom);
    world.tell(1);
    world.executor.run_for(1s);
    CHECK(world.told() == kRoom + 1);
}

TEST_CASE("at a stop what waits is forgotten, and a new start begins empty",
          "[edge][home][events]") {
    World world;
    world.tell(1'000);
    world.events.stop();
    world.executor.run_for(1s);
    CHECK(world.told() == GoneEvents::kInFlightMax);
    world.tell(100);
    world.executor.run_for(1s);
    CHECK(world.told() == GoneEvents::kInFlightMax + 100);
}
