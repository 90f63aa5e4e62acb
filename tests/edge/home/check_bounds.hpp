#pragma once

#include "support/home_world.hpp"

#include <catch2/catch.hpp>

namespace beckon::test {

/// The last check of each test that fills a bound of a home: fronts and home agree on the sessions.
inline void check_sessions(const HomeWorld& world) {
    CHECK(world.home->status().sessions == world.sessions_of_fronts());
}

}  // namespace beckon::test
