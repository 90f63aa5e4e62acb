#include "core/time_guard.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using core::certainly_past;

TEST_CASE("a time is certainly past only an hour after both clocks say so") {
    const core::Timestamp end{1'790'000'000'000ms};
    CHECK(certainly_past(end + 1h, end + 1h) >= end);
    CHECK(certainly_past(end + 1h, end + 1h - 1ms) < end);
    CHECK(certainly_past(end + 1h - 1ms, end + 1h) < end);
    CHECK(certainly_past(end + 24h * 365, end) < end);
    CHECK(certainly_past(end, end + 24h * 365) < end);
}
