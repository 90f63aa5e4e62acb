#include "core/time_text.hpp"

#include <chrono>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon::core;
using namespace std::chrono_literals;

TEST_CASE("a time is written as RFC 3339 has it, in UTC") {
    const Timestamp time{1'763'627'400s + 125ms};
    CHECK(time_text(time) == "2025-11-20T08:30:00.125Z");
    CHECK(time_text_in_seconds(time) == "2025-11-20T08:30:00Z");
    CHECK(time_text(Timestamp{-1ms}) == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("a date is written as RFC 9110 §5.6.7 shows it") {
    const Timestamp time{std::chrono::seconds{784'111'777} + std::chrono::milliseconds{999}};
    CHECK(http_date(time) == "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST_CASE("the date of now is that of the host's clock") {
    const SystemClock clock;
    const auto before = clock.wall();
    const std::string now{http_date_now()};
    bool found = false;
    for (auto at = before; at <= clock.wall() + std::chrono::seconds{1};
         at += std::chrono::seconds{1}) {
        found = found || http_date(at) == now;
    }
    CHECK(found);
}
