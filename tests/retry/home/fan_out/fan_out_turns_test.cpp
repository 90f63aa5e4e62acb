#include "retry/home/fan_out/fan_out_turns.hpp"

#include "support/manual_clock.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;

namespace {

/// Work of owners, and in which order its parts are done.
struct TurnsWorld {
    /// `parts` parts of so many steps.
    void add(const std::string& owner, const std::string& name, int parts, std::size_t steps) {
        turns.add(owner, [this, owner, name, left = parts, steps]() mutable {
            done.push_back(name);
            took[owner] += steps;
            return FanOutTurns::Done{.steps = steps, .over = --left == 0};
        });
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    FanOutTurns turns{executor};
    std::vector<std::string> done;
    std::map<std::string, std::size_t> took;
};

}  // namespace

// Fails if an exception leaves the turn: then all others wait until something is added.
TEST_CASE("work that throws is called again, and holds up nobody else", "[retry][event]") {
    TurnsWorld world;
    world.turns.add("bad", [&, left = 3]() mutable {
        if (--left > 0) throw std::bad_alloc{};
        world.done.push_back("bad");
        return FanOutTurns::Done{};
    });
    world.add("good", "good", 1, 100);
    world.executor.run();
    CHECK(world.done == std::vector<std::string>{"good", "bad"});
}

TEST_CASE("the work of one owner is done in order, each until it is over", "[retry][event]") {
    TurnsWorld world;
    world.add("o", "1", 3, 2 * FanOutTurns::kPart);
    world.add("o", "2", 1, 0);
    world.add("o", "3", 2, 10);
    world.add("p", "p", 1, 10);
    world.executor.run();
    std::erase(world.done, "p");
    CHECK(world.done == std::vector<std::string>{"1", "1", "1", "2", "3", "3"});
}

TEST_CASE("between parts of the work the thread has other turns", "[retry][event][bounds]") {
    TurnsWorld world;
    world.add("o", "1", 100, FanOutTurns::kPart);
    world.add("p", "2", 100'000, 0);  // a part that takes no steps costs something too
    for (std::size_t before = 0; world.executor.step(); before = world.done.size()) {
        CHECK(world.done.size() - before <= FanOutTurns::kPart);
    }
    CHECK(world.done.size() == 100'100);
}

TEST_CASE("an owner whose deliveries take its share waits, and nobody else does",
          "[retry][event][bounds]") {
    TurnsWorld world;
    std::vector<FanOutTurns::Held> held;
    while (world.turns.has_capacity("o")) held.push_back(world.turns.hold("o"));
    CHECK(held.size() >= FanOutTurns::kDeliveriesMax / 3);
    CHECK(held.size() <= FanOutTurns::kDeliveriesMax / 2);
    CHECK(world.turns.has_capacity("p"));
    world.add("o", "o", 1, 10);
    world.add("p", "p", 1, 10);
    world.executor.run();
    CHECK(world.done == std::vector<std::string>{"p"});

    // Many who take all that they can get leave something for one more, and never take more.
    std::size_t most = held.size();
    for (int i = 0; i < 100; ++i) {
        const auto name = std::to_string(i);
        CHECK(world.turns.has_capacity(name));
        for (int j = 0; j < 400 && world.turns.has_capacity(name); ++j) {
            held.push_back(world.turns.hold(name));
        }
    }
    CHECK(held.size() > most);
    CHECK(held.size() <= FanOutTurns::kDeliveriesMax);

    held.clear();
    world.executor.run();
    CHECK(world.done == std::vector<std::string>{"p", "o"});
    CHECK(world.turns.has_capacity("o"));
    while (world.turns.has_capacity("o")) held.push_back(world.turns.hold("o"));
    CHECK(held.size() == most);
}

TEST_CASE("while turns are paused nothing is begun, and then everything", "[retry][event]") {
    TurnsWorld world;
    world.turns.add("o", [&] {
        world.done.push_back("first");
        world.turns.set_paused(true);
        return FanOutTurns::Done{};
    });
    world.add("o", "second", 1, 10);
    world.executor.run();
    world.add("p", "third", 1, 10);
    world.executor.run();
    CHECK(world.done == std::vector<std::string>{"first"});
    world.turns.set_paused(false);
    world.executor.run();
    CHECK(world.done.size() == 3);
}

TEST_CASE("a delivery may be released when the turns are gone", "[retry][event]") {
    test::ManualClock clock;
    test::SimExecutor executor{clock};
    auto turns = std::make_unique<FanOutTurns>(executor);
    auto held = turns->hold("o");
    bool ran = false;
    turns->add("o", [&] {
        ran = true;
        return FanOutTurns::Done{};
    });
    turns.reset();
    held.reset();
    executor.run();
    CHECK_FALSE(ran);
}
