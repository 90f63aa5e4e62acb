#include "retry/home/tiers/due_clock.hpp"

#include "support/manual_clock.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using beckon::core::Timestamp;
using beckon::retry::DueClock;

namespace {

Timestamp at(std::chrono::milliseconds time) { return Timestamp{time}; }

/// Each record stands behind the one before.
DueClock::Proof appended_at(std::chrono::milliseconds time) {
    static beckon::core::Offset offset = 0;
    return {.offset = offset++, .time = at(time)};
}

}  // namespace

TEST_CASE("a clock without a proof calls nothing due", "[retry][clock]") {
    beckon::test::ManualClock host;
    const DueClock clock{host};
    CHECK(clock.until(at(0ms)) == std::nullopt);
}

TEST_CASE("a report proves the append time, and the host's monotonic clock goes on from there",
          "[retry][clock]") {
    beckon::test::ManualClock host;
    DueClock clock{host};
    const auto sent = host.mono();
    host.advance(40ms);  // the append came somewhere in these
    clock.appended(appended_at(1'000ms), sent);
    CHECK(clock.until(at(1'500ms)) == 500ms);
    host.advance(500ms);
    CHECK(clock.until(at(1'500ms)) == 0ms);
}

TEST_CASE("a report that is read late proves the same as when it came", "[retry][clock]") {
    beckon::test::ManualClock host;
    DueClock clock{host};
    const auto sent = host.mono();
    host.advance(1ms);
    const auto seen = host.mono();
    host.advance(300ms);  // other things had to come first
    clock.appended(appended_at(1'000ms), sent, seen);
    CHECK(clock.until(at(1'300ms)) == 0ms);
}

TEST_CASE("the better of two proofs counts", "[retry][clock]") {
    beckon::test::ManualClock host;
    DueClock clock{host};
    auto sent = host.mono();
    host.advance(100ms);
    clock.appended(appended_at(1'000ms), sent);  // perhaps up to 100 ms late
    sent = host.mono();
    host.advance(1ms);
    clock.appended(appended_at(1'090ms), sent);
    CHECK(clock.until(at(1'090ms)) == 0ms);
    host.advance(100ms);
    clock.appended(appended_at(1'100ms), host.mono() - 100ms);  // a slow report takes nothing away
    CHECK(clock.until(at(1'190ms)) == 0ms);
}

TEST_CASE("a step of the host's wall clock changes nothing", "[retry][clock]") {
    beckon::test::ManualClock host;
    DueClock clock{host};
    clock.appended(appended_at(1'000ms), host.mono());
    host.step_wall(-3h);
    CHECK(clock.until(at(2'000ms)) == 1'000ms);
}

TEST_CASE("a broker's clock that was set back is believed at its next append", "[retry][clock]") {
    beckon::test::ManualClock host;
    DueClock clock{host};
    clock.appended(appended_at(100'000ms), host.mono());
    clock.appended(appended_at(40'000ms), host.mono());
    CHECK(clock.until(at(41'000ms)) == 1'000ms);
}

TEST_CASE("a record that is read proves that its time has come", "[retry][clock]") {
    beckon::test::ManualClock host;
    DueClock clock{host};
    clock.appended(appended_at(1'000ms), host.mono());
    clock.read(appended_at(3'000ms));
    CHECK(clock.until(at(3'000ms)) == 0ms);
}

// Else a new home's clock follows records from before the broker's clock was set back.
TEST_CASE("a record that stands before the newest proof proves nothing", "[retry][clock]") {
    beckon::test::ManualClock host;
    DueClock clock{host};
    clock.appended({.offset = 7, .time = at(1'000ms)}, host.mono());
    clock.read({.offset = 6, .time = at(90'000ms)});
    CHECK(clock.until(at(3'000ms)) == 2'000ms);
    clock.appended({.offset = 5, .time = at(90'000ms)}, host.mono());  // a report that came late
    CHECK(clock.until(at(3'000ms)) == 2'000ms);
}

TEST_CASE("an append time below the one before shows that the broker's clock was set back",
          "[retry][clock]") {
    beckon::test::ManualClock host;
    DueClock clock{host};
    clock.appended(appended_at(100'000ms), host.mono());
    host.advance(60s);
    clock.read(appended_at(50'000ms));
    CHECK(clock.until(at(60'000ms)) == 10'000ms);
    clock.read(appended_at(55'000ms));
    CHECK(clock.until(at(60'000ms)) == 5'000ms);
}
