#include "retry/role/tier_watch.hpp"

#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <optional>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::retry;
using namespace std::chrono_literals;
using log::Topic;

namespace {

/// A log with some records in the tiers of two partitions, and the watch of the node that serves
/// both.
struct World {
    World() : log(log::make_memory_log({.partitions = 2, .clock = &clock})) {
        const auto publisher = log->open_publisher(executor);
        for (int i = 0; i < 10; ++i) {
            publisher->publish({Topic::retry(1), i % 2},
                               {.key = "k" + std::to_string(i), .value = "v", .headers = {}},
                               [](const auto&) {});
        }
        executor.run_for(1s);
    }

    /// As the node does, once a second.
    void watch_for(std::chrono::seconds time, const std::vector<TierState>& states) {
        for (auto passed = 0s; passed < time; passed += 1s) {
            watch.update(states, fanned_out);
            executor.run_for(1s);
        }
        watch.update(states, fanned_out);
    }
    std::vector<log::GroupOffset> committed() {
        std::optional<std::vector<log::GroupOffset>> found;
        log->committed(TierWatch::kGroup,
                       {{Topic::retry(1), 0}, {Topic::retry(1), 1}, {Topic::kEvents, 0}}, executor,
                       [&](const auto& offsets) { found = offsets.value(); });
        executor.run_for(1s);
        return found.value();
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log;
    TierWatch watch{*log, executor, clock};
    std::vector<log::GroupOffset> fanned_out;
};

TierState state(core::Partition partition, core::Offset low, core::Offset finished_above,
                std::optional<core::Duration> until_due) {
    return {.where = {Topic::retry(1), partition},
            .tier = 1,
            .delay = 60s,
            .low = low,
            .finished_above = finished_above,
            .until_due = until_due};
}

}  // namespace

TEST_CASE("what waits in a tier is summed over its partitions", "[retry][tier_watch]") {
    World world;
    world.watch_for(6s, {state(0, 1, 2, 10s), state(1, 0, 0, -30s)});
    const auto& tier = world.watch.waiting().at(1);
    CHECK(tier.records == 2 + 5);
    CHECK(tier.oldest == 90s);
    CHECK(tier.overdue == 30s);

    world.watch_for(6s, {state(0, 5, 0, std::nullopt), state(1, 5, 0, std::nullopt)});
    const auto& done = world.watch.waiting().at(1);
    CHECK(done.records == 0);
    CHECK(done.oldest == 0s);
    CHECK(done.overdue == 0s);
}

TEST_CASE("a partition that is another node's counts no more", "[retry][tier_watch]") {
    World world;
    world.watch_for(6s, {state(0, 0, 0, 10s), state(1, 0, 0, 10s)});
    CHECK(world.watch.waiting().at(1).records == 10);
    world.watch_for(6s, {state(1, 0, 0, 10s)});
    CHECK(world.watch.waiting().at(1).records == 5);
    world.watch_for(6s, {});
    CHECK(world.watch.waiting().empty());
}

TEST_CASE("lag tools find the positions as a group of their own", "[retry][tier_watch]") {
    World world;
    world.watch_for(6s, {state(0, 3, 0, 10s), state(1, 4, 0, 10s)});
    CHECK(world.committed() ==
          std::vector<log::GroupOffset>{{{Topic::retry(1), 0}, 3}, {{Topic::retry(1), 1}, 4}});
    world.watch_for(1s, {state(0, 4, 0, 10s), state(1, 4, 0, 10s)});
    world.watch_for(1s, {state(0, 5, 0, 10s), state(1, 4, 0, 10s)});
    CHECK(world.committed().at(0).offset == 5);
}

TEST_CASE("the group has the position of the fan-out of events too", "[retry][tier_watch]") {
    World world;
    world.fanned_out = {{{Topic::kEvents, 0}, 7}};
    world.watch_for(6s, {state(0, 3, 0, 10s)});
    CHECK(world.committed() ==
          std::vector<log::GroupOffset>{{{Topic::retry(1), 0}, 3}, {{Topic::kEvents, 0}, 7}});
}
