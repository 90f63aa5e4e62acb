#include "core/http_date.hpp"

#include <chrono>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon::core;

TEST_CASE("a date is written as RFC 9110 §5.6.7 shows it", "[http_date]") {
    const Timestamp time{std::chrono::seconds{784'111'777} + std::chrono::milliseconds{999}};
    CHECK(http_date(time) == "Sun, 06 Nov 1994 08:49:37 GMT");
}

TEST_CASE("the date of now is that of the host's clock", "[http_date]") {
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
