#include "retry/round_robin.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;

namespace {

struct Participant : RoundRobinPlace {
    std::string name;
    core::Duration cost{};
    int waiting = 0;  ///< turns that it wants
    core::Duration used{};
};

struct Line {
    Participant& add(const std::string& name, core::Duration cost, int waiting) {
        auto& one = *all.emplace_back(std::make_unique<Participant>());
        one.name = name;
        one.cost = cost;
        want(one, waiting);
        return one;
    }
    void want(Participant& one, int turns) {
        one.waiting += turns;
        robin.enter(one);
    }
    /// Whose turn it was; "": nobody's.
    std::string turn() {
        using Turn = RoundRobin<Participant>::Turn;
        auto* one = robin.next(
            [](const auto& asked) { return asked.waiting > 0 ? Turn::take : Turn::leave; });
        if (!one) return "";
        --one->waiting;
        one->credit -= one->cost;
        one->used += one->cost;
        if (one->waiting == 0) robin.rest(*one);
        return one->name;
    }

    std::vector<std::unique_ptr<Participant>> all;
    RoundRobin<Participant> robin{10ms};
};

}  // namespace

TEST_CASE("busy owners use equal parts, whatever a turn costs", "[retry][schedule][round-robin]") {
    Line line;
    line.add("small", 1ms, 10'000);
    line.add("large", 35ms, 10'000);
    for (int i = 0; i < 5'000; ++i) line.turn();
    CHECK(line.all[0]->used > 0.9 * line.all[1]->used);
    CHECK(line.all[0]->used < 1.1 * line.all[1]->used);
}

// Fails if a new owner goes to the end of the line, or waits for a round.
TEST_CASE("an owner that needs little has the next turn, however many are in line",
          "[retry][schedule][round-robin]") {
    Line line;
    for (int i = 0; i < 50; ++i) line.add("busy", 5ms, 10'000);
    auto& sparse = line.add("sparse", 5ms, 0);
    int next = 0;
    constexpr int kTimes = 200;
    for (int i = 0; i < kTimes; ++i) {
        for (int j = 0; j < 60; ++j) line.turn();  // of which a share would be more than one
        line.want(sparse, 1);
        next += line.turn() == "sparse" ? 1 : 0;
        while (sparse.waiting > 0) line.turn();
    }
    CHECK(next >= kTimes * 9 / 10);
}

// Fails if an owner that comes back goes first each time.
TEST_CASE("an owner that always comes back for one more turn gets a share and no more",
          "[retry][schedule][round-robin]") {
    Line line;
    auto& busy = line.add("busy", 5ms, 100'000);
    for (int i = 0; i < 9; ++i) line.add("returns", 5ms, 1);
    for (int i = 0; i < 10'000; ++i) {
        line.turn();
        for (auto& one : line.all) {
            if (one->waiting == 0) line.want(*one, 1);
        }
    }
    CHECK(busy.used >= 800 * 5ms);  // of a thousand
    for (const auto& one : line.all) CHECK(one->used >= 800 * 5ms);
}

TEST_CASE("an owner that leaves has no turn, and all others do", "[retry][schedule][round-robin]") {
    Line line;
    line.add("a", 1ms, 1);
    auto& b = line.add("b", 1ms, 1);
    line.add("c", 1ms, 1);
    line.robin.leave(b);
    std::map<std::string, int> turns;
    for (auto name = line.turn(); !name.empty(); name = line.turn()) ++turns[name];
    CHECK(turns == std::map<std::string, int>{{"a", 1}, {"c", 1}});
    CHECK(line.robin.empty());
}
