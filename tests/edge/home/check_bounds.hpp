#pragma once

#include "support/home_world.hpp"

#include <catch2/catch.hpp>

namespace beckon::test {

/// What the end of each test that fills a bound of a home has in common: fronts and home agree on
/// who is there.
inline void check_sessions(const HomeWorld& world) {
    CHECK(world.home->status().sessions == world.sessions_of_fronts());
}

}  // namespace beckon::test
