#include "log/contract_support.hpp"
#include "log/embedded/embedded_under_test.hpp"
#include "log/embedded/log_time.hpp"
#include "support/shared_clock.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using namespace std::chrono_literals;
using log::embedded::ClockReading;
using log::embedded::LogTime;
using log::embedded::TimeGap;
using std::chrono::milliseconds;

namespace {

/// A host with a hostile wall clock, a log on it, and the true time, which only the test knows.
struct Host {
    SharedClock clock;
    bool disciplined = true;
    std::string boot = "boot 1";
    milliseconds true_now{0};
    std::optional<ClockReading> left;
    std::vector<TimeGap> gaps;
    std::optional<LogTime> log;

    void start() {
        log.emplace(
            clock, [this] { return disciplined; }, boot, left, gaps);
        gaps = log->gaps();
    }
    void reboot() { boot += "+"; }
    void stop() {
        left = log->read_clocks();
        log.reset();
    }
    void pass(milliseconds by) {
        true_now += by;
        clock.advance(by);
    }
};

constexpr milliseconds kHour = std::chrono::hours{1};

}  // namespace

TEST_CASE("a new log begins at the host's time and follows it") {
    Host host;
    host.start();
    const auto begin = host.clock.wall();
    CHECK(host.log->now() == begin);
    host.pass(10 * kHour);
    CHECK(host.log->now() == host.clock.wall());
}

TEST_CASE("a step of the host's clock does not move the log's time") {
    const auto step = GENERATE(-365 * 24 * kHour, -kHour, kHour, 365 * 24 * kHour);
    Host host;
    host.start();
    const auto begin = host.log->now();
    host.clock.step_wall(step);
    CHECK(host.log->now() == begin);
    for (int i = 0; i < 24; ++i) {
        host.pass(kHour);
        static_cast<void>(host.log->now());
    }
    const auto off = host.log->now() - (begin + 24 * kHour);
    CHECK(off <= 24 * kHour / 1000);  // it is steered that way, slowly
    CHECK(off >= -24 * kHour / 1000);
    CHECK((step > 0ms ? off > 0ms : off < 0ms));
}

TEST_CASE("a host's clock that is set while nobody vouches for it is seen as wrong") {
    Host host;
    host.disciplined = false;
    host.start();
    CHECK(host.log->clock_ahead() == 0s);
    host.pass(60s);
    host.clock.step_wall(-48 * kHour);
    CHECK(host.log->clock_ahead() == -48 * kHour);
    host.clock.step_wall(96 * kHour);
    CHECK(host.log->clock_ahead() == 48 * kHour);
    SECTION("until the kernel vouches for it") {
        host.disciplined = true;
        CHECK(host.log->clock_ahead() == 0s);
    }
    SECTION("or it is set right") {
        host.clock.step_wall(-48 * kHour);
        CHECK(host.log->clock_ahead() == 0s);
    }
}

TEST_CASE("a host that boots with a clock behind the log's has a wrong clock") {
    Host host;
    host.disciplined = false;
    host.start();
    host.stop();
    host.reboot();
    host.clock.step_wall(-48 * kHour);
    host.start();
    CHECK(host.log->clock_ahead() <= -48 * kHour);
    CHECK(host.log->clock_ahead() >= -48 * kHour - 1s);
}

TEST_CASE("a host that was down for a day has no wrong clock for that") {
    Host host;
    host.disciplined = false;
    host.start();
    host.stop();
    host.reboot();
    host.pass(24 * kHour);
    host.start();
    CHECK(host.log->now() < host.clock.wall() - 23 * kHour);
    CHECK(host.log->clock_ahead() == 0s);
    host.stop();
    host.start();
    CHECK(host.log->clock_ahead() == 0s);
    host.clock.step_wall(48 * kHour);
    CHECK(host.log->clock_ahead() == 48 * kHour);
}

TEST_CASE("a clock that is wrong when a process starts again in the same boot is seen as wrong") {
    const auto step = GENERATE(-24 * kHour, 24 * kHour);
    Host host;
    host.disciplined = false;
    host.start();
    host.pass(kHour);
    host.stop();
    host.clock.step_wall(step);
    host.pass(60s);
    for (int starts = 0; starts < 3; ++starts) {
        host.start();
        CHECK(host.log->clock_ahead() == step);
        host.stop();
    }
    host.clock.step_wall(-step);
    host.start();
    CHECK(host.log->clock_ahead() == 0s);
}

TEST_CASE("the log's time never goes back") {
    Host host;
    host.start();
    auto before = host.log->now();
    for (const auto step : {-kHour, 3 * kHour, -24 * kHour, 24 * kHour}) {
        host.clock.step_wall(step);
        for (int i = 0; i < 100; ++i) {
            host.pass(1s);
            const auto now = host.log->now();
            REQUIRE(now >= before);
            before = now;
        }
    }
}

TEST_CASE("time over a reboot counts if the host's clock is believed") {
    Host host;
    host.start();
    host.pass(kHour);
    const auto closed_at = host.log->now();
    SECTION("at both ends") {
        host.stop();
        host.reboot();
        host.pass(5 * kHour);
        host.start();
        CHECK(host.log->now() == closed_at + 5 * kHour);
    }
    SECTION("not when it is wrong at boot, whichever way") {
        const auto wrong = GENERATE(-365 * 24 * kHour, 365 * 24 * kHour);
        host.stop();
        host.reboot();
        host.pass(5 * kHour);
        host.disciplined = false;
        host.clock.step_wall(wrong);
        host.start();
        CHECK(host.log->now() == closed_at + 1ms);
        // The time service corrects it: nothing jumps then either.
        host.pass(1min);
        host.clock.step_wall(-wrong);
        host.disciplined = true;
        const auto off = host.log->now() - (closed_at + 1min + 1ms);
        CHECK(off <= 60ms);  // but it is steered
        CHECK(off >= -60ms);
    }
    SECTION("not when it had been wrong before") {
        host.disciplined = false;
        host.clock.step_wall(-24 * kHour);
        host.pass(1min);
        static_cast<void>(host.log->now());
        host.stop();
        host.reboot();
        host.disciplined = true;
        host.clock.step_wall(24 * kHour);
        host.start();
        CHECK(host.log->now() < closed_at + 1h);
    }
    SECTION("not when it went back") {
        host.stop();
        host.reboot();
        host.clock.step_wall(-24 * kHour);
        host.start();
        CHECK(host.log->now() == closed_at + 1ms);
    }
}

namespace {

/// A host that has no time service and was never wrong, with a log that was used for an hour; it is
/// off for five.
struct Rebooted : Host {
    Rebooted() {
        disciplined = false;
        start();
        pass(kHour);
        last = log->now();
        stop();
        reboot();
        pass(5 * kHour);
    }
    core::Duration missing() { return log->missing().of(last); }
    /// Of what is appended now.
    core::Duration missing_now() { return log->missing().of(log->now()); }
    core::Timestamp last;  ///< what was appended last before
};

}  // namespace

TEST_CASE("over a restart nothing is missing") {
    Host host;
    host.disciplined = false;
    host.start();
    host.pass(kHour);
    host.stop();
    host.pass(5 * kHour);
    host.start();
    CHECK(host.log->missing() == core::MissingTime{});
}

TEST_CASE("over a reboot a right clock that nobody vouches for says what is missing") {
    Rebooted host;
    host.start();
    CHECK(host.missing() == 5 * kHour - 1ms);
    CHECK(host.missing_now() == 0ms);  // what comes now is stamped by the time that is missing
    for (const auto wait : {59s, 2s, 600s}) {
        host.pass(wait);
        CHECK(host.missing() == 5 * kHour - 1ms);
    }
    host.pass(kHour);  // by now the clock steers the log
    const auto missing = host.missing();
    CHECK(missing <= 5 * kHour);
    CHECK(missing >= 5 * kHour - kHour / 1000 - 1ms);
    SECTION("also after a restart") {
        host.stop();
        host.pass(2s);
        host.start();
        CHECK(host.missing() == missing);
        CHECK(host.gaps.size() == 1);
    }
    SECTION("and after another reboot") {
        const auto between = host.log->now();
        host.stop();
        host.reboot();
        host.pass(2 * kHour);
        host.start();
        CHECK(host.missing() == missing + 2 * kHour - 1ms);
        CHECK(host.log->missing().of(between) == 2 * kHour - 1ms);
        CHECK(host.missing_now() == 0ms);
    }
}

TEST_CASE(
    "over a reboot a clock that starts in 1970 leaves all in doubt, for ten minutes at most") {
    Rebooted host;
    const core::Duration behind = host.clock.wall().time_since_epoch() - 30s;
    const auto step = std::chrono::floor<milliseconds>(behind);
    host.clock.step_wall(-step);
    host.start();
    CHECK(host.missing() == core::MissingTime::kForever);
    CHECK(host.missing_now() == 0ms);
    host.pass(5min);
    CHECK(host.missing() == core::MissingTime::kForever);
    SECTION("it is set right in time") {
        host.clock.step_wall(step);
        host.disciplined = GENERATE(true, false);
        CHECK(host.missing() >= 5 * kHour - 2s);
        CHECK(host.missing() <= 5 * kHour);
    }
    SECTION("nobody sets it right") {
        host.pass(5min - 1s);
        CHECK(host.missing() == core::MissingTime::kForever);
        host.pass(1s);
        CHECK(host.missing() == 0ms);
    }
    SECTION("it is set right later") {
        host.pass(10min);
        host.clock.step_wall(step);
        CHECK(host.missing() == 0ms);  // nobody vouches for it so far
        host.pass(61s);
        CHECK(host.missing() >= 5 * kHour - 2s);
    }
}

TEST_CASE("over a reboot a clock that is a year ahead is heard until it is corrected") {
    constexpr auto kYear = 365 * 24 * kHour;
    Rebooted host;
    host.clock.step_wall(kYear);
    host.start();
    CHECK(host.missing() == kYear + 5 * kHour - 1ms);
    const auto corrected_after = GENERATE(3min, 20min);
    host.pass(corrected_after);
    CHECK(host.missing() >= kYear);
    host.clock.step_wall(-kYear);
    host.disciplined = true;
    CHECK(host.missing() >= 5 * kHour - 2s);
    CHECK(host.missing() <= 5 * kHour);
}

TEST_CASE("a clock that was not trusted when it was read says nothing after ten minutes") {
    Host host;
    host.disciplined = false;
    host.start();
    host.clock.step_wall(-365 * 24 * kHour);
    host.pass(59s);  // not yet steady for a minute
    const auto last = host.log->now();
    host.stop();
    host.reboot();
    host.clock.step_wall(365 * 24 * kHour);
    host.start();
    host.pass(599s);
    CHECK(host.log->missing().of(last) > 364 * 24 * kHour);
    host.pass(1s);
    CHECK(host.log->missing().of(last) == 0ms);
}

TEST_CASE("a clock that steps again and again is not heard after ten minutes") {
    Rebooted host;
    host.start();
    for (int i = 0; i < 20; ++i) {
        host.pass(30s);
        host.clock.step_wall(i % 2 == 0 ? kHour : -kHour);
        static_cast<void>(host.log->now());
    }
    CHECK(host.missing() == 0ms);
    host.pass(61s);
    CHECK(host.missing() >= 5 * kHour - 2s);  // it is steady at last
}

TEST_CASE("a process that is restarted within a boot goes on trusting a steady clock") {
    Rebooted host;
    host.start();
    host.pass(11min);
    host.stop();
    SECTION("that was steady meanwhile") {
        host.pass(5s);
        host.start();
        CHECK(host.missing() >= 5 * kHour - 2s);
    }
    SECTION("not one that stepped meanwhile") {
        host.pass(5s);
        host.clock.step_wall(kHour);
        host.start();
        CHECK(host.missing() == 0ms);
    }
}

TEST_CASE("only the last reboots are remembered, and they are read back as they were written") {
    Rebooted host;
    host.start();
    for (int i = 0; i < 20; ++i) {
        host.pass(1min);
        host.stop();
        host.reboot();
        host.pass(kHour);
        host.start();
    }
    CHECK(host.gaps.size() == LogTime::kGapsMax);
    const auto bytes = to_bytes(host.gaps);
    CHECK(log::embedded::parse_time_gaps(bytes) == host.gaps);
    CHECK(log::embedded::parse_time_gaps("") == std::vector<TimeGap>{});
    CHECK_FALSE(log::embedded::parse_time_gaps(bytes.substr(0, bytes.size() - 1)));
    CHECK_FALSE(log::embedded::parse_time_gaps(bytes + bytes));
}

TEST_CASE("within one boot the time without a process is exact, whatever the wall clock does") {
    const auto step = GENERATE(0 * kHour, -365 * 24 * kHour, 365 * 24 * kHour);
    const auto before = GENERATE(true, false);
    const auto after = GENERATE(true, false);
    Host host;
    host.disciplined = before;
    host.start();
    host.pass(kHour);
    const auto closed_at = host.log->now();
    host.stop();
    host.pass(2'400ms);
    host.clock.step_wall(step);
    host.disciplined = after;
    host.start();
    CHECK(host.log->now() == closed_at + 2'400ms);
}

TEST_CASE("an unknown boot is never the same, nor one whose monotonic clock went back") {
    Host host;
    host.disciplined = false;
    const bool unknown = GENERATE(true, false);
    if (unknown) host.boot.clear();
    host.start();
    host.pass(kHour);
    const auto closed_at = host.log->now();
    host.stop();
    if (!unknown) host.left->mono += 2 * kHour;
    host.pass(kHour);
    host.start();
    CHECK(host.log->now() == closed_at + 1ms);
}

TEST_CASE("a host without a time service steers the log once its clock was steady for an hour") {
    Host host;
    host.disciplined = false;
    host.start();
    host.clock.step_wall(kHour);  // corrected by hand, say
    const auto corrected = host.log->now();
    host.pass(59min);
    CHECK(host.log->now() == corrected + 59min);
    host.pass(2min);
    const auto steady = host.log->now();
    host.pass(kHour);
    CHECK(host.log->now() > steady + kHour);  // steered from here on
    CHECK_FALSE(
        host.log->read_clocks().disciplined);  // which proves nothing about a time when it is down
}

TEST_CASE("whatever the host's clock does, no message expires before its time") {
    // A checker that knows true time: what is stamped at t with a TTL may be over by the log's time
    // only when t + TTL has truly passed, but for the thousandth by which the log is steered.
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random{seed};
        const auto below = [&](std::uint64_t n) { return random() % n; };
        Host host;
        const auto begin = host.clock.wall();
        host.disciplined = below(2) == 0;
        host.start();
        host.left = host.log->read_clocks();
        struct Message {
            milliseconds sent;
            core::Timestamp stamp;
            milliseconds ttl;
        };
        std::vector<Message> messages;
        for (int step = 0; step < 300; ++step) {
            switch (below(10)) {
                case 0: {
                    const auto by =
                        milliseconds{static_cast<std::int64_t>(below(60 * 24)) * 60'000};
                    const auto signed_by = below(2) == 0 ? by : -by;
                    // Only a clock that nobody vouches for steps; the kernel notices.
                    host.disciplined = false;
                    host.clock.step_wall(signed_by);
                    break;
                }
                case 1:  // the time service sets it right
                    host.clock.step_wall(begin + host.true_now - host.clock.wall());
                    host.disciplined = true;
                    break;
                case 2: {  // a restart or a reboot, in which the clock may be lost, or be set
                    host.log.reset();
                    if (below(2) == 0) host.reboot();
                    host.pass(milliseconds{static_cast<std::int64_t>(below(3'600'000))});
                    if (below(2) == 0) {
                        host.disciplined = below(2) == 0;
                        const auto right = begin + host.true_now - host.clock.wall();
                        host.clock.step_wall(host.disciplined ? right : right + 24 * kHour);
                    }
                    host.start();
                    break;
                }
                default: {
                    host.pass(milliseconds{static_cast<std::int64_t>(below(1'800'000))});
                    messages.push_back(
                        {host.true_now, host.log->now(),
                         milliseconds{static_cast<std::int64_t>(1'000 * (1 + below(86'400)))}});
                    host.left = host.log->read_clocks();
                }
            }
            const auto now = host.log->now();
            for (const auto& message : messages) {
                if (now < message.stamp + message.ttl) continue;
                REQUIRE(host.true_now - message.sent >= message.ttl - message.ttl / 500 - 2ms);
            }
        }
    }
}

TEST_CASE("a clock reading is read back as it was written, and nothing else is") {
    const ClockReading reading{.log = core::Timestamp{1'790'000'000'123ms},
                               .wall = core::Timestamp{-5ms},
                               .disciplined = true,
                               .mono = core::MonoTime{7s},
                               .boot = "0b1f0e5c-1d6e-4a0b-9d2b-3f4a5b6c7d8e",
                               .steady = true};
    CHECK(log::embedded::parse_clock_reading(to_bytes(reading)) == reading);
    CHECK_FALSE(log::embedded::parse_clock_reading(""));
    CHECK_FALSE(log::embedded::parse_clock_reading(to_bytes(reading).substr(0, 24)));
    CHECK_FALSE(log::embedded::parse_clock_reading(to_bytes(reading) + std::string(64, 'x')));
    auto steady = reading;
    steady.disciplined = false;
    CHECK(log::embedded::parse_clock_reading(to_bytes(steady)) == steady);
}

namespace {

struct WithClock {
    SharedClock shared_clock;
    bool disciplined = true;
};

struct TimedLog : WithClock, EmbeddedUnderTest {
    TimedLog()
        : EmbeddedUnderTest([this](log::EmbeddedConfig& c) {
              c.clock = &shared_clock;
              c.clock_is_disciplined = [this] { return disciplined; };
          }) {}
    core::Timestamp stamp() {
        static constexpr log::TopicPartition kWhere{log::Topic::kNotifications, 1};
        append(*this, kWhere, {record("k")});
        return read_all(*this, kWhere).back().time;
    }
};

}  // namespace

TEST_CASE("standalone that starts an hour behind and is corrected keeps what it accepted") {
    TimedLog log;
    log.disciplined = false;
    log.shared_clock.step_wall(-kHour);
    log.close();
    log.open();
    const auto accepted = log.stamp();
    log.close();
    log.shared_clock.advance(5s);
    log.shared_clock.step_wall(kHour);
    log.disciplined = true;
    log.open();
    CHECK(log.stamp() < accepted + 10min);  // a TTL of 600 s is not over
}

TEST_CASE("records of a log that was closed for a while are stamped with the time it is then") {
    TimedLog log;
    const auto before = log.stamp();
    log.close();
    log.shared_clock.advance(3 * kHour);
    log.open();
    CHECK(log.stamp() >= before + 3 * kHour);
}

TEST_CASE(
    "records of a log that was closed are stamped by the boot's time, without a time service") {
    TimedLog log;
    log.close();
    log.disciplined = false;
    log.config.boot_id = "boot 1";
    log.open();
    const auto before = log.stamp();
    log.close();
    log.shared_clock.advance(3 * kHour);
    log.shared_clock.step_wall(-24 * kHour);
    SECTION("a restart") {
        log.open();
        CHECK(log.stamp() == before + 3 * kHour);
    }
    SECTION("a reboot") {
        log.config.boot_id = "boot 2";
        log.open();
        const auto after = log.stamp();
        CHECK(after > before);
        CHECK(after <= before + 1ms);
        CHECK(log.log().missing_time().of(before) == core::MissingTime::kForever);
        CHECK(log.log().missing_time().of(after) == 0ms);
        log.close();
        log.open();  // it is remembered
        CHECK(log.log().missing_time().of(before) == core::MissingTime::kForever);
        log.shared_clock.advance(10min);
        CHECK(log.log().missing_time().of(before) == 0ms);
    }
}
