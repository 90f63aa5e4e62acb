#include "retry/home/first_attempts.hpp"

#include "support/manual_clock.hpp"
#include "support/test_executor.hpp"

#include <optional>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;

namespace {

/// "<webhook>/<delivery> …", and "all" if nothing else was expected.
std::string text_of(const std::vector<FirstAttempts::Seen>& seen, bool all) {
    std::string text;
    for (const auto& one : seen) text += one.webhook + "/" + one.attempt.delivery + " ";
    return text + (all ? "all" : "some");
}

struct World {
    void attempted(const std::string& webhook, const std::string& delivery) {
        first.attempted(webhook, {.delivery = delivery, .why = {}});
    }
    void answer(std::uint64_t number, core::Duration wait = 5s) {
        first.answer(number, wait,
                     [this](const auto& seen, bool all) { answers.push_back(text_of(seen, all)); });
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    FirstAttempts first{executor};
    std::vector<std::string> answers;
};
using Answers = std::vector<std::string>;

}  // namespace

TEST_CASE("the answer comes with the last of the first attempts", "[retry][dispatch]") {
    World world;
    const auto number = world.first.expect("o", {"a", "b"});
    world.attempted("w1", "a");  // quicker than the log's report
    world.answer(number);
    world.attempted("w3", "other");
    CHECK(world.answers.empty());
    world.attempted("w2", "b");
    CHECK(world.answers == Answers{"w1/a w2/b all"});
    world.executor.run_for(10s);
    CHECK(world.answers.size() == 1);
}

TEST_CASE("a delivery that was not attempted in time is missing", "[retry][dispatch]") {
    World world;
    world.answer(world.first.expect("o", {"a", "b"}));
    world.attempted("w", "a");
    world.executor.run_for(4900ms);
    CHECK(world.answers.empty());
    world.executor.run_for(200ms);
    CHECK(world.answers == Answers{"w/a some"});
    world.attempted("w", "b");  // nobody waits any more
    CHECK(world.answers.size() == 1);
}

TEST_CASE("where nothing is expected the answer comes at once", "[retry][dispatch]") {
    World world;
    world.answer(world.first.expect("o", {}));
    CHECK(world.answers == Answers{"all"});
}

TEST_CASE("an event that is posted twice is answered twice", "[retry][dispatch]") {
    World world;
    world.answer(world.first.expect("o", {"a"}));
    world.answer(world.first.expect("o", {"a"}));
    world.attempted("w", "a");
    CHECK(world.answers == Answers{"w/a all", "w/a all"});
}

TEST_CASE(
    "expected attempts are bounded, and there is space again once they are answered or forgotten",
    "[retry][dispatch]") {
    World world;
    std::set<std::string> many;
    for (std::size_t i = 0; i < FirstAttempts::kExpectedMax; ++i) many.insert(std::to_string(i));
    const auto number = world.first.expect("o", many);
    CHECK_FALSE(world.first.has_capacity("other", 1));
    world.attempted("w", "17");
    CHECK(world.first.has_capacity("other", 1));
    CHECK_FALSE(world.first.has_capacity("other", 2));
    CHECK_FALSE(world.first.has_capacity("o", 1));
    world.first.forget(number);
    CHECK(world.first.has_capacity("o", FirstAttempts::kExpectedMax / 2));
    world.answer(world.first.expect("o", {"a"}));
    world.executor.run_for(10s);
    CHECK(world.first.has_capacity("o", FirstAttempts::kExpectedMax / 2));
    CHECK(world.answers == Answers{"some"});
}

// Fails where all requests share one number: then ten of one owner give everybody 429.
TEST_CASE("requests of one owner that wait leave space to others", "[retry][dispatch][bounds]") {
    World world;
    std::size_t taken = 0;
    while (world.first.has_capacity("greedy", 1'000)) {
        std::set<std::string> many;
        for (int i = 0; i < 1'000; ++i)
            many.insert(std::to_string(taken) + "." + std::to_string(i));
        world.first.expect("greedy", many);
        REQUIRE(++taken < 10);
    }
    CHECK(taken >= 2);
    for (int owner = 0; owner < 5; ++owner) {
        const auto name = "o" + std::to_string(owner);
        REQUIRE(world.first.has_capacity(name, 1'000));
        world.first.expect(name, {name});
    }
}

TEST_CASE("at a stop waiting requests are answered with the attempts so far", "[retry][dispatch]") {
    World world;
    world.answer(world.first.expect("o", {"a", "b"}));
    const auto written_later = world.first.expect("o", {"c"});
    world.attempted("w", "a");
    world.first.end();
    CHECK(world.answers == Answers{"w/a some"});
    world.answer(written_later);
    CHECK(world.answers.back() == "some");
}
