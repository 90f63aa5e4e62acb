#include "console/lag/status.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::console;
using namespace std::chrono_literals;

TEST_CASE("the word follows from lag, age, movement, owner and rates") {
    struct Row {
        const char* what;
        Facts facts;
        Status word;
    };
    const Row rows[] = {
        {"nothing waits", {.lag = 0, .unmoved = 1h}, Status::ok},
        {"the waiting records are young", {.lag = 900, .behind = 30s, .unmoved = 5s}, Status::ok},
        {"old, and records come as fast as they are read",
         {.lag = 900, .behind = 31s, .unmoved = 5s, .position_rate = 10, .append_rate = 10},
         Status::slow},
        {"old, and coming nearer",
         {.lag = 900, .behind = 1h, .unmoved = 5s, .position_rate = 11, .append_rate = 10},
         Status::restoring},
        {"unmoved, in a delay topic whose first record is not due",
         {.lag = 40, .behind = 1h, .unmoved = 1h, .owned = true, .delay = 2h},
         Status::ok},
        {"unmoved, in a delay topic whose first record is due",
         {.lag = 40, .behind = 3h, .unmoved = 1h, .owned = true, .delay = 2h},
         Status::stalled},
        {"unmoved, but not for long",
         {.lag = 1, .behind = 1s, .unmoved = 29s, .owned = true},
         Status::ok},
        {"unmoved with an owner",
         {.lag = 1, .behind = 1s, .unmoved = 30s, .owned = true},
         Status::stalled},
        {"unmoved without one", {.lag = 1, .behind = 1s, .unmoved = 30s}, Status::stopped},
        {"its reader is dead",
         {.lag = 1, .behind = 1s, .unmoved = 2s, .dead = true},
         Status::stopped},
        {"its reader is dead, and nothing waits", {.dead = true}, Status::ok},
        {"unmoved with nothing to read", {.lag = 0, .unmoved = 30s}, Status::ok},
    };
    for (const auto& row : rows) {
        INFO(row.what);
        CHECK(to_string(status_of(row.facts)) == to_string(row.word));
        CHECK_FALSE(reason(row.word, row.facts).empty());
    }
}

TEST_CASE("the time to drain is the lag over what reading gains") {
    CHECK(time_to_drain({.lag = 0}) == core::Duration::zero());
    CHECK(time_to_drain({.lag = 100, .position_rate = 30, .append_rate = 20}) == 10s);
    CHECK(time_to_drain({.lag = 100, .position_rate = 20, .append_rate = 20}) == std::nullopt);
    CHECK(time_to_drain({.lag = 1'000'000'000, .position_rate = 0.001}) == std::nullopt);
}

TEST_CASE("retention warns before it overtakes a group, and says when it has") {
    const Retention kept{.start = 0, .position = 50, .kept = 100min};
    CHECK(loss_of(kept, {.lag = 10, .behind = 79min}) == Loss::none);
    CHECK(loss_of(kept, {.lag = 10, .behind = 80min}) == Loss::near);
    CHECK(time_left(kept, {.lag = 10, .behind = 80min}) == 20min);
    // It will have read them by then.
    CHECK(loss_of(kept, {.lag = 10, .behind = 80min, .position_rate = 1}) == Loss::none);
    // It will not: 10 records at 0.005 a second take more than 20 minutes.
    CHECK(loss_of(kept, {.lag = 10, .behind = 80min, .position_rate = 0.005}) == Loss::near);
    CHECK(loss_of(kept, {.lag = 0}) == Loss::none);
    const Retention overtaken{.start = 60, .position = 50, .kept = 100min};
    CHECK(loss_of(overtaken, {.lag = 10, .behind = 1min}) == Loss::now);
    // Compaction removes what a later record replaces: nothing is lost.
    const Retention compacted{.start = 60, .position = 50, .kept = {}};
    CHECK(loss_of(compacted, {.lag = 10, .behind = 1000h}) == Loss::none);
    CHECK(time_left(compacted, {.lag = 10, .behind = 1000h}) == std::nullopt);
}
