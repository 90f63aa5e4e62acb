#include "retry/home/queue/requeues.hpp"

#include <map>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;

namespace {

const core::MonoTime kNow{1000s};

TierTable table() { return *TierTable::from({0s, 5s, 60s, 300s, 1800s, 7200s, 43200s}); }

/// Requeues so many at once; returns how many are in each tier.
std::map<int, std::size_t> put(Requeues& backs, std::size_t count, core::Duration wait = 0s) {
    std::map<int, std::size_t> where;
    for (std::size_t i = 0; i < count; ++i) {
        const int tier = *backs.tier_for(table(), wait, kNow);
        backs.put(table(), tier, kNow);
        ++where[tier];
    }
    return where;
}

}  // namespace

TEST_CASE("a few wait in the shortest tier that fits", "[retry][requeues]") {
    Requeues backs;
    CHECK(*backs.tier_for(table(), 0s, kNow) == 1);
    CHECK(*backs.tier_for(table(), 5s, kNow) == 1);
    CHECK(*backs.tier_for(table(), 5001ms, kNow) == 2);
    CHECK(*backs.tier_for(table(), 10min, kNow) == 4);
}

TEST_CASE("a webhook with many deliveries requeues them into longer tiers, up to its longest wait",
          "[retry][requeues]") {
    Requeues backs;
    const auto where = put(backs, 1'000'000);
    CHECK(where.at(1) == 50 * 60);
    CHECK(where.at(2) == 50 * 300 - 50 * 60);
    CHECK(where.at(3) == 50 * 1800 - 50 * 300);
    CHECK(where.at(4) == 1'000'000 - 50 * 1800);
    // Requeued records in a second, however many deliveries wait.
    double a_second = 0;
    for (const auto& [tier, count] : where) {
        a_second += static_cast<double>(count) / static_cast<double>(table().delay(tier).count());
    }
    CHECK(a_second < 1'700);
}

TEST_CASE("no wait is longer than the bound, whatever is asked for", "[retry][requeues]") {
    Requeues backs;
    CHECK(*backs.tier_for(table(), 12h, kNow) == 4);
}

TEST_CASE("a table whose tiers are all longer has no other choice", "[retry][requeues]") {
    const auto long_ones = *TierTable::from({0s, 7200s, 43200s});
    CHECK(*Requeues{}.tier_for(long_ones, 0s, kNow) == 1);
    CHECK(*Requeues{}.tier_for(*TierTable::from({0s, 5s}), 10min, kNow) == 1);
    CHECK_FALSE(Requeues{}.tier_for(*TierTable::from({0s}), 5s, kNow));
}

TEST_CASE("deliveries that came back make space in the short tiers", "[retry][requeues]") {
    Requeues backs;
    put(backs, 4'000);
    CHECK(*backs.tier_for(table(), 0s, kNow) == 2);
    for (int i = 0; i < 1'001; ++i) backs.came_back(1);
    CHECK(*backs.tier_for(table(), 0s, kNow) == 1);
    CHECK(backs.count(1, kNow) == 1'999);
}

TEST_CASE("what is forgotten makes space, and no more than it held", "[retry][requeues]") {
    Requeues all{Requeues::kOwnerPerSecond};
    Requeues one;
    put(one, 4'000);
    CHECK(put(all, 6'000).at(1) == 6'000);
    CHECK(*all.tier_for(table(), 0s, kNow) == 2);
    all.forget(one);
    CHECK(all.count(1, kNow) == 3'000);
    all.forget(one);
    all.forget(one);
    CHECK(all.count(1, kNow) == 0);
}

TEST_CASE("deliveries that never come back are not counted for ever", "[retry][requeues]") {
    Requeues backs;
    put(backs, 3'000);
    CHECK(backs.count(1, kNow + 1min) == 3'000);
    CHECK(backs.count(1, kNow + 66s) == 0);
    backs.put(table(), 1, kNow + 66s);
    CHECK(backs.count(1, kNow + 66s) == 1);
}
