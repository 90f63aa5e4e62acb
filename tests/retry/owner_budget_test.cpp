#include "retry/owner_budget.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;

namespace {

using Budget = OwnerBudget<std::string, 2>;

/// The next works, each of which costs so much.
std::vector<std::string> served(Budget& budget, std::size_t count, core::Duration cost) {
    std::vector<std::string> names;
    while (names.size() < count) {
        auto* const next = budget.next();
        if (!next) break;
        names.push_back(budget.take(*next, cost));
    }
    return names;
}

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

TEST_CASE("owners have turns by what their work costs, each in its own order",
          "[retry][schedule]") {
    Budget budget{10ms, {{{100, 1}, {100, 1}}}};
    for (const auto* work : {"a1", "a2", "a3"}) budget.add("a", work);
    budget.add("b", "b1");
    CHECK(served(budget, 4, 10ms) == std::vector<std::string>{"a1", "b1", "a2", "a3"});
    CHECK_FALSE(budget.has_work());
    // One that comes with credit has the next turn.
    for (int i = 0; i < 100; ++i) budget.add("a", "a");
    served(budget, 50, 10ms);
    budget.add("new", "n");
    CHECK(served(budget, 1, 10ms) == std::vector<std::string>{"n"});
}

TEST_CASE("an owner may hold a share of what is free, of each resource", "[retry][schedule]") {
    Budget budget{10ms, {{{100, 1}, {1'000, 8}}}};
    std::size_t held = 0;
    for (; budget.has_share("a", 0); ++held) budget.hold("a", 0, 1);
    CHECK(held == 38);  // of 100; free² / capacity
    CHECK(budget.has_share("b", 0));
    CHECK(budget.has_share("a", 1));
    for (held = 0; budget.has_share("a", 1); ++held) budget.hold("a", 1, 1);
    CHECK(held == 101);
    budget.give_back("a", 0, 38);
    CHECK(budget.has_share("a", 0));
    CHECK(budget.used(0) == 0);
}

TEST_CASE("an owner that may not act keeps its place", "[retry][schedule]") {
    Budget budget{10ms, {{{100, 1}, {1, 1}}}};
    for (const auto* name : {"a", "b"}) budget.add(name, name);
    budget.hold("a", 0, 50);
    CHECK(budget.next(0)->name == "b");
    CHECK(budget.next()->name == "a");
    CHECK(budget.next(0)->name == "b");
}

TEST_CASE("owners that hold nothing and have no work are forgotten", "[retry][schedule][bounds]") {
    Budget budget{10ms, {{{10'000, 1}, {1, 1}}}};
    budget.hold("holds", 0, 1);
    budget.add("works", "w");
    for (int i = 0; i < 10'000; ++i) {
        budget.owner(std::to_string(i));
        REQUIRE(budget.owners() <= Budget::kIdleMax);
    }
    CHECK(budget.holds("holds", 0) == 1);
    CHECK(budget.owner("works").works.size() == 1);
    CHECK(budget.take_all().size() == 1);
    CHECK_FALSE(budget.next());
}

TEST_CASE("a budget without work counts what owners hold, and forgets those that hold nothing",
          "[retry][schedule]") {
    OwnerBudget<NoWork, 1> budget{{{{100, 1}}}};
    budget.hold("a", 0, 30);
    budget.hold("a", 0, 10);
    budget.hold("b", 0, 20);
    CHECK(budget.holds("a", 0) == 40);
    CHECK(budget.free(0) == 40);
    CHECK(budget.share(0) == 16);  // 40, of which 40 per cent
    budget.give_back("a", 0, 40);
    budget.give_back("b", 0, 5);
    budget.give_back("nobody", 0, 0);
    CHECK(budget.holds("a", 0) == 0);
    CHECK(budget.holds("b", 0) == 15);
    CHECK(budget.used(0) == 15);
    CHECK(budget.owners() == 1);
}

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
