#include "core/clock.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using core::Timestamp;

TEST_CASE("the system's clocks run") {
    const core::SystemClock clock;
    const auto mono = clock.mono();
    CHECK(clock.wall() > Timestamp{1'700'000'000'000ms});
    CHECK(clock.mono() >= mono);
}
