#include "app/process/housekeeping.hpp"
#include "support/manual_clock.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using app::ClockWatch;

TEST_CASE("a wall clock that is set is noticed once, forwards and backwards") {
    test::ManualClock clock;
    ClockWatch watch{clock};
    CHECK_FALSE(watch.poll());
    clock.advance(1h);
    CHECK_FALSE(watch.poll());
    clock.step_wall(30s);
    clock.advance(1s);
    CHECK(watch.poll() == core::Duration{30s});
    CHECK_FALSE(watch.poll());
    clock.step_wall(-24h);
    CHECK(watch.poll() == core::Duration{-24h});
}

TEST_CASE("a host's clock far from the log's is a warning that names both") {
    CHECK(app::clock_warning(0s).empty());
    CHECK(app::clock_warning(59s).empty());
    CHECK(app::clock_warning(-59s).empty());
    CHECK(app::clock_warning(48h).find("172800 s ahead of the log's time") != std::string::npos);
    CHECK(app::clock_warning(-61s).find("61 s behind the log's time") != std::string::npos);
}

TEST_CASE("a clock that is kept right by small corrections is not worth a line") {
    test::ManualClock clock;
    ClockWatch watch{clock};
    for (int i = 0; i < 100; ++i) {
        clock.step_wall(500ms);
        CHECK_FALSE(watch.poll());
    }
}
