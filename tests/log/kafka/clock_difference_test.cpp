#include "log/kafka/kafka_events.hpp"
#include "support/shared_clock.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using log::kafka::ClockDifference;

TEST_CASE("a broker that stamps a record between its sending and its report agrees") {
    test::SharedClock clock;
    ClockDifference difference{clock};
    CHECK(difference.ahead() == std::nullopt);
    difference.learn(clock.wall() - 20ms, 50ms);
    CHECK(difference.ahead() == 0ms);
}

TEST_CASE("a host two days behind its brokers, or ahead of them, is seen") {
    test::SharedClock clock;
    ClockDifference difference{clock};
    difference.learn(clock.wall() + 48h, 50ms);
    CHECK(difference.ahead() == -48h);
    difference.learn(clock.wall() - 48h, 50ms);
    CHECK(difference.ahead() == 48h - 50ms);
    clock.advance(5min);
    difference.learn(clock.wall(), 50ms);
    CHECK(difference.ahead() == 0ms);
}

TEST_CASE("an old record proves nothing about the clocks") {
    test::SharedClock clock;
    ClockDifference difference{clock};
    difference.learn(clock.wall() + 48h, 50ms);
    clock.advance(ClockDifference::kProofLife + 1s);
    CHECK(difference.ahead() == std::nullopt);
}
