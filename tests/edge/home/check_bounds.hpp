#pragma once

#include "support/home_world.hpp"

#include <chrono>

#include <catch2/catch.hpp>

namespace beckon::test {

/// Far below what makes a loop's thread suspect (half of the session time-out), and what nobody who
/// is connected to the same shard should wait. With a sanitizer nothing is measured.
#if defined(BECKON_SANITIZED)
inline constexpr std::chrono::seconds kTurnMost{10};
#else
inline constexpr std::chrono::milliseconds kTurnMost{200};
#endif

/// What the end of each test that fills a bound of a home has in common: no turn took long, and
/// fronts and home agree on who is there.
inline void check_turns_and_sessions(const HomeWorld& world) {
    CHECK(world.executor.longest_turn() < kTurnMost);
    CHECK(world.home->status().sessions == world.sessions_of_fronts());
}

}  // namespace beckon::test
