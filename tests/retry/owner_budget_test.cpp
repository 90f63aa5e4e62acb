#include "retry/owner_budget.hpp"

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
        auto* const next = budget.next([](const auto&) { return true; });
        if (!next) break;
        names.push_back(next->works.front());
        next->works.pop_front();
        budget.pay(*next, cost);
    }
    return names;
}

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
    auto& a = budget.owner("a");
    std::size_t held = 0;
    for (; budget.has_share(a, 0); ++held) budget.hold(a, 0, 1);
    CHECK(held == 38);  // of 100; free² / capacity
    CHECK(budget.has_share("b", 0));
    CHECK(budget.has_share("a", 1));
    for (held = 0; budget.has_share(a, 1); ++held) budget.hold(a, 1, 1);
    CHECK(held == 101);
    budget.give_back(a, 0, 38);
    CHECK(budget.has_share("a", 0));
    CHECK(budget.used(0) == 0);
}

TEST_CASE("an owner that may not act keeps its place", "[retry][schedule]") {
    Budget budget{10ms, {{{1, 1}, {1, 1}}}};
    budget.add("a", "a");
    budget.add("b", "b");
    const auto not_a = [](const auto& one) { return one.name() != "a"; };
    CHECK(budget.next(not_a)->name() == "b");
    CHECK(budget.next([](const auto&) { return true; })->name() == "a");
    CHECK(budget.next(not_a)->name() == "b");
}

TEST_CASE("owners that hold nothing and have no work are forgotten", "[retry][schedule][bounds]") {
    Budget budget{10ms, {{{10'000, 1}, {1, 1}}}};
    budget.hold(budget.owner("holds"), 0, 1);
    budget.add("works", "w");
    for (int i = 0; i < 10'000; ++i) {
        budget.owner(std::to_string(i));
        REQUIRE(budget.owners() <= Budget::kIdleMax);
    }
    CHECK(budget.owner("holds").holds(0) == 1);
    CHECK(budget.owner("works").works.size() == 1);
    CHECK(budget.take_all().size() == 1);
    CHECK_FALSE(budget.next([](const auto&) { return true; }));
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
