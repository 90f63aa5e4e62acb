#include "console/lag/position_times.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using beckon::console::PositionTimes;
using namespace std::chrono_literals;

namespace {

core::Timestamp at(std::chrono::seconds time) { return core::Timestamp{1'000'000s + time}; }

}  // namespace

TEST_CASE("between two samples time goes in a straight line") {
    PositionTimes times;
    times.learn(100, at(0s));
    times.learn(200, at(50s));
    CHECK(times.at(100) == at(0s));
    CHECK(times.at(150) == at(25s));
    CHECK(times.at(200) == at(50s));
}

TEST_CASE("above the newest sample it is the newest time, below the oldest it is unknown") {
    PositionTimes times;
    CHECK(times.at(7) == std::nullopt);
    times.learn(100, at(0s));
    CHECK(times.at(99) == std::nullopt);
    CHECK(times.at(101) == at(0s));
}

TEST_CASE("an end that does not move moves its time: the next record comes later") {
    PositionTimes times;
    times.learn(100, at(0s));
    times.learn(100, at(60s));
    times.learn(100, at(90s));
    CHECK(times.at(100) == at(90s));
    CHECK(times.at(99) == at(0s));  // this one was there at the beginning
}

TEST_CASE("a record that was looked up fits in between, and times never fall") {
    PositionTimes times;
    times.learn(100, at(60s));
    times.learn(40, at(10s));
    CHECK(times.at(40) == at(10s));
    CHECK(times.at(70) == at(35s));
    times.learn(80, at(500s));  // a clock that was wrong
    CHECK(times.at(80) == at(60s));
    times.learn(60, at(0s));  // and one that was wrong the other way
    CHECK(times.at(60) == at(10s));
}

TEST_CASE("records up to a time are counted") {
    PositionTimes times;
    times.learn(0, at(0s));
    times.learn(100, at(100s));
    CHECK(times.until(at(49s), 0, 100) == 50);
    CHECK(times.until(at(-1s), 0, 100) == 0);
    CHECK(times.until(at(1000s), 20, 100) == 80);
    PositionTimes late;  // what lies below its oldest sample is older than that
    late.learn(50, at(0s));
    late.learn(100, at(50s));
    CHECK(late.until(at(-1s), 0, 100) == 50);
}

TEST_CASE("a million samples take bounded memory and keep the oldest") {
    PositionTimes times;
    for (int i = 0; i < 1'000'000; ++i) times.learn(i * 10, at(std::chrono::seconds{i}));
    CHECK(times.size() <= PositionTimes::kSamplesMax);
    CHECK(times.at(0) == at(0s));
    CHECK(times.at(5'000'000) == at(500'000s));
}
