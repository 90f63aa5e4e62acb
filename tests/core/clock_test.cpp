#include "core/clock.hpp"

#include "support/manual_clock.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using core::Timestamp;

namespace {

Timestamp at(std::chrono::milliseconds since_epoch) { return Timestamp{since_epoch}; }

/// A log whose clock reads `log_now`; the report of an append that took `round_trip` has just come,
/// and the append lay in its middle.
void report(core::LogClock& log_clock, const test::ManualClock& host, Timestamp log_now,
            std::chrono::milliseconds round_trip) {
    log_clock.learn(log_now - round_trip / 2, host.mono() - round_trip);
}

}  // namespace

TEST_CASE("before a report the log's time is the host's, and says that it is not learned",
          "[clock]") {
    test::ManualClock host;
    const core::LogClock log_clock{host};
    CHECK_FALSE(log_clock.learned());
    CHECK(log_clock.now() == host.wall());
}

TEST_CASE("the log's clock decides, whatever the host's wall clock says", "[clock]") {
    test::ManualClock host;
    core::LogClock log_clock{host};
    const auto log_now = at(1'900'000'000'000ms);
    report(log_clock, host, log_now, 4ms);
    CHECK(log_clock.learned());
    CHECK(log_clock.now() == log_now);

    host.advance(10s);
    CHECK(log_clock.now() == log_now + 10s);
    host.step_wall(-24h);
    CHECK(log_clock.now() == log_now + 10s);
}

TEST_CASE("a slow report does not replace a quick one within a minute", "[clock]") {
    test::ManualClock host;
    core::LogClock log_clock{host};
    const auto log_now = at(1'900'000'000'000ms);
    report(log_clock, host, log_now, 2ms);
    log_clock.learn(log_now, host.mono() - 800ms);  // appended at its end: would be 400 ms off
    CHECK(log_clock.now() == log_now);

    host.advance(59s);
    log_clock.learn(log_now + 59s, host.mono() - 800ms);
    CHECK(log_clock.now() == log_now + 59s);
}

TEST_CASE("a quicker report replaces a slow one at once", "[clock]") {
    test::ManualClock host;
    core::LogClock log_clock{host};
    const auto log_now = at(1'900'000'000'000ms);
    log_clock.learn(log_now, host.mono() - 800ms);
    CHECK(log_clock.now() == log_now + 400ms);
    report(log_clock, host, log_now, 2ms);
    CHECK(log_clock.now() == log_now);
}

TEST_CASE("after a minute any report is taken, so that a drift or a step of the log is followed",
          "[clock]") {
    test::ManualClock host;
    core::LogClock log_clock{host};
    report(log_clock, host, at(1'900'000'000'000ms), 2ms);
    host.advance(61s);
    const auto stepped = at(1'900'000'000'000ms) + 61s - 5s;
    report(log_clock, host, stepped, 50ms);
    CHECK(log_clock.now() == stepped);
}

TEST_CASE("the system's clocks run", "[clock]") {
    const core::SystemClock clock;
    const auto mono = clock.mono();
    CHECK(clock.wall() > at(1'700'000'000'000ms));
    CHECK(clock.mono() >= mono);
}
