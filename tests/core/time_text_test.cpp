#include "core/time_text.hpp"

#include <chrono>

#include <catch2/catch.hpp>

using namespace beckon::core;
using namespace std::chrono_literals;

TEST_CASE("a time is written as RFC 3339 has it, in UTC", "[time_text]") {
    const Timestamp time{1'763'627'400s + 125ms};
    CHECK(time_text(time) == "2025-11-20T08:30:00.125Z");
    CHECK(time_text_in_seconds(time) == "2025-11-20T08:30:00Z");
    CHECK(time_text(Timestamp{-1ms}) == "1969-12-31T23:59:59.999Z");
}
