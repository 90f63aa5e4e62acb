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
    void report(std::size_t count, core::GoneReason reason = core::GoneReason::client_removed,
                const core::Uaid& client = {}, const std::string& owner = "vapid-0") {
        for (std::size_t i = 0; i < count; ++i) {
            events.report({.uaid = client,
                           .channel = core::ChannelId{core::random_uuid4()},
                           .owner = owner,
                           .endpoint = "https://push.example/wpush/" + std::to_string(i),
                           .reason = reason});
        }
    }
    std::size_t reported() const { return log->records({log::Topic::kEvents, 0}).size(); }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log = log::make_memory_log(
        {.seed = 1, .partitions = 1, .clock = &clock, .append_delay_max = 4ms});
    std::unique_ptr<log::Publisher> publisher = log->open_publisher(executor);
    std::string unwanted = "vapid-nobody";
    GoneEvents events{1,
                      {.publisher = *publisher,
                       .executor = executor,
                       .clock = clock,
                       .wanted = [this](std::string_view owner) { return owner != unwanted; }}};
};

}  // namespace

TEST_CASE("of many subscriptions that end at once few are under way, and all are published") {
    World world;
    world.report(1'000);
    CHECK(world.publisher->unanswered() == GoneEvents::kInFlightMax);
    world.executor.run_for(1s);
    CHECK(world.reported() == 1'000);
    CHECK(world.publisher->unanswered() == 0);
}

TEST_CASE("an event that the log refuses does not hold up later ones") {
    World world;
    world.log->fail_next_publishes(100);
    world.report(300);
    world.executor.run_for(1s);
    CHECK(world.reported() == 200);
}

TEST_CASE("waiting events beyond the bound are left out, and there is space again later") {
    constexpr auto kCapacity = GoneEvents::kInFlightMax + GoneEvents::kWaitingMax;
    World world;
    // Of several application servers, since each has a bucket.
    world.report(kCapacity / 2);
    world.report(kCapacity - kCapacity / 2 + 5, core::GoneReason::client_removed, {}, "vapid-1");
    world.executor.run_for(10s);
    CHECK(world.reported() == kCapacity);
    world.report(1);
    world.executor.run_for(1s);
    CHECK(world.reported() == kCapacity + 1);
}

TEST_CASE("at a stop waiting events are forgotten, and a new start begins empty") {
    World world;
    world.report(1'000);
    world.events.stop();
    world.executor.run_for(1s);
    CHECK(world.reported() == GoneEvents::kInFlightMax);
    world.report(100);
    world.executor.run_for(1s);
    CHECK(world.reported() == GoneEvents::kInFlightMax + 100);
}

// Anybody can register with a made-up key, and 43 events a second stayed in the log for two weeks.
TEST_CASE("where nobody has a webhook for it nothing is published") {
    World world;
    world.report(100, core::GoneReason::unregistered, {}, world.unwanted);
    world.executor.run_for(1s);
    CHECK(world.reported() == 0);
}

TEST_CASE(
    "the unregisters of one client are published up to a bound, those of others all the same") {
    World world;
    const core::Uaid one{core::random_uuid4()};
    const core::Uaid other{core::random_uuid4()};
    const auto reported_of = [&](const core::Uaid& client, std::size_t count) {
        const auto before = world.reported();
        world.report(count, core::GoneReason::unregistered, client);
        world.executor.run_for(1s);
        return world.reported() - before;
    };
    CHECK(reported_of(one, 1'000) == GoneEvents::kOfClient.at_once);
    CHECK(reported_of(one, 1'000) == 0);
    CHECK(reported_of(other, 50) == 50);
    world.executor.run_for(GoneEvents::kOfClient.each * 3);
    CHECK(reported_of(one, 1'000) == 3);
    world.report(100, core::GoneReason::client_removed, one);  // that happens to a client once
    world.executor.run_for(1s);
    CHECK(world.reported() == GoneEvents::kOfClient.at_once + 50 + 3 + 100);
}

TEST_CASE("an application server is notified of no more than it is allowed, whoever ends them") {
    World world;
    for (int i = 0; i < 300; ++i) {
        world.report(50, core::GoneReason::unregistered, core::Uaid{core::random_uuid4()});
        world.executor.run_for(1ms);
    }
    world.executor.run_for(10s);
    const auto most = GoneEvents::kOfOwner.at_once + 20;
    CHECK(world.reported() <= most);
    CHECK(world.reported() >= GoneEvents::kOfOwner.at_once);
}
