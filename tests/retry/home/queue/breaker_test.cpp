#include "retry/home/queue/breaker.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using beckon::core::MonoTime;
using beckon::retry::Breaker;

namespace {

Breaker opened_at(MonoTime now) {
    Breaker breaker;
    for (int i = 0; i < Breaker::kFailures; ++i) breaker.failed(now);
    return breaker;
}

}  // namespace

TEST_CASE("a breaker opens after so many failures in a row, and a success between starts anew",
          "[retry][breaker]") {
    Breaker breaker;
    for (int i = 0; i < Breaker::kFailures - 1; ++i) breaker.failed(MonoTime{1s});
    CHECK_FALSE(breaker.open());
    breaker.succeeded();
    breaker.failed(MonoTime{1s});
    CHECK(breaker.closed_in(MonoTime{1s}) == 0s);
    CHECK(opened_at(MonoTime{1s}).closed_in(MonoTime{1s}) == 30s);
}

TEST_CASE("an open breaker lets one attempt through when its time is over", "[retry][breaker]") {
    auto breaker = opened_at(MonoTime{0s});
    CHECK(breaker.closed_in(MonoTime{29s}) == 1s);
    CHECK(breaker.closed_in(MonoTime{30s}) == 0s);
    breaker.start();
    CHECK(breaker.closed_in(MonoTime{30s}) > 0s);
    breaker.succeeded();
    CHECK(breaker.closed_in(MonoTime{30s}) == 0s);
}

TEST_CASE("each attempt that fails keeps it open for twice as long, up to a limit",
          "[retry][breaker]") {
    auto breaker = opened_at(MonoTime{0s});
    auto now = MonoTime{30s};
    auto expected = 60s;
    for (int i = 0; i < 8; ++i) {
        breaker.start();
        breaker.failed(now);
        CHECK(breaker.closed_in(now) == std::min<beckon::core::Duration>(expected, 10min));
        now += breaker.closed_in(now);
        expected *= 2;
    }
}

TEST_CASE("failures of attempts that were under way when it opened do not stretch it",
          "[retry][breaker]") {
    auto breaker = opened_at(MonoTime{0s});
    breaker.failed(MonoTime{1s});
    breaker.failed(MonoTime{2s});
    CHECK(breaker.closed_in(MonoTime{2s}) == 28s);
}

TEST_CASE("an attempt that shows nothing lets the next one try", "[retry][breaker]") {
    auto breaker = opened_at(MonoTime{0s});
    breaker.start();
    breaker.undecided();
    CHECK(breaker.open());
    CHECK(breaker.closed_in(MonoTime{30s}) == 0s);
}
