#pragma once

#include "support/home_world.hpp"
#include "support/turn_meter.hpp"

#include <catch2/catch.hpp>

namespace beckon::test {

/// What the end of each test that fills a bound of a home has in common: no turn took long, and
/// fronts and home agree on who is there.
inline void check_turns_and_sessions(const HomeWorld& world) {
    CHECK(world.executor.longest_turn() < kTurnMost);
    CHECK(world.home->status().sessions == world.sessions_of_fronts());
}

}  // namespace beckon::test
