#include "retry/role/change_turns.hpp"

#include "support/manual_clock.hpp"
#include "support/test_executor.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;

namespace {

struct TurnsWorld {
    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<ChangeTurns> turns = std::make_unique<ChangeTurns>(executor);
    std::vector<std::string> begun;
    std::vector<ChangeTurns::Turn> held;

    void take(const std::string& webhook, const std::string& name) {
        turns->take(webhook, [this, name](const auto& turn) {
            begun.push_back(name);
            held.push_back(turn);
        });
    }
    void run() { executor.run_for(1s); }
};

}  // namespace

TEST_CASE("changes of one webhook begin one after the other, those of others at once",
          "[retry][node]") {
    TurnsWorld world;
    world.take("w", "first");
    world.take("w", "second");
    world.take("w", "third");
    world.take("other", "of the other");
    world.run();
    CHECK(world.begun == std::vector<std::string>{"first", "of the other"});
    world.held[0].reset();
    CHECK(world.begun.size() == 2);
    world.take("w", "fourth");  // comes before the second one has begun
    world.run();
    CHECK(world.begun.size() == 3);
    world.held[2].reset();
    world.run();
    world.held[3].reset();
    world.run();
    CHECK(world.begun ==
          std::vector<std::string>{"first", "of the other", "second", "third", "fourth"});
    CHECK(world.turns->under_way() == 2);
    world.held[1].reset();
    world.held[4].reset();
    world.run();
    CHECK(world.turns->under_way() == 0);
}

TEST_CASE("a change that ends without an answer, or throws, lets the next one go on",
          "[retry][node]") {
    TurnsWorld world;
    world.take("w", "dropped");
    world.turns->take("w", [](const auto&) { throw std::runtime_error("it throws in its turn"); });
    world.turns->take("w", [](const auto&) {});
    world.take("w", "last");
    world.held.clear();
    world.run();
    CHECK(world.begun == std::vector<std::string>{"dropped", "last"});
    world.held.clear();
    world.run();
    CHECK(world.turns->under_way() == 0);
    world.turns->take("w", [](const auto&) { throw std::runtime_error("it throws at once"); });
    world.run();
    CHECK(world.turns->under_way() == 0);
}

TEST_CASE("changes that wait when the node ends are not made, and leave nothing behind",
          "[retry][node]") {
    TurnsWorld world;
    const auto waits = std::make_shared<int>(0);
    world.take("w", "first");
    world.turns->take("w", [&, waits](const auto&) { world.begun.emplace_back("too late"); });
    world.take("x", "of another");
    world.take("x", "is about to begin");
    world.held[1].reset();
    world.turns.reset();
    CHECK(waits.use_count() == 1);
    world.held.clear();
    world.run();
    CHECK(world.begun == std::vector<std::string>{"first", "of another"});
}
