#include "edge/loop/timing_wheel.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using edge::TimingWheel;
using edge::WheelTimer;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

const core::MonoTime kStart{std::chrono::seconds{1000}};

/// Notes when it fired, by the time that the test is advancing to.
struct Probe : WheelTimer {
    Probe()
        : WheelTimer([](WheelTimer& t) {
              auto& self = static_cast<Probe&>(t);
              ++self.fired;
              if (self.then) self.then();
          }) {}
    int fired = 0;
    std::function<void()> then;
};

}  // namespace

TEST_CASE("a timer fires at its millisecond, not before") {
    TimingWheel wheel{kStart};
    Probe probe;
    wheel.schedule(probe, kStart + milliseconds{250});
    CHECK(wheel.advance(kStart + milliseconds{249}) == 0);
    CHECK(probe.armed());
    CHECK(wheel.advance(kStart + milliseconds{250}) == 1);
    CHECK(probe.fired == 1);
    CHECK_FALSE(probe.armed());
    CHECK(wheel.advance(kStart + hours{1}) == 0);
}

TEST_CASE("a part of a millisecond rounds up") {
    TimingWheel wheel{kStart};
    Probe probe;
    wheel.schedule(probe, kStart + milliseconds{7} + microseconds{1});
    wheel.advance(kStart + milliseconds{7} + microseconds{999});
    CHECK(probe.fired == 0);
    wheel.advance(kStart + milliseconds{8});
    CHECK(probe.fired == 1);
}

TEST_CASE("a timer beyond the wheel's range still fires on time") {
    TimingWheel wheel{kStart};
    Probe probe;
    wheel.schedule(probe, kStart + hours{100});
    wheel.advance(kStart + hours{100} - milliseconds{1});
    CHECK(probe.fired == 0);
    wheel.advance(kStart + hours{100});
    CHECK(probe.fired == 1);
}

TEST_CASE("a cancelled or destroyed timer does not fire") {
    TimingWheel wheel{kStart};
    Probe cancelled;
    auto destroyed = std::make_unique<Probe>();
    wheel.schedule(cancelled, kStart + milliseconds{10});
    wheel.schedule(*destroyed, kStart + milliseconds{10});
    wheel.cancel(cancelled);
    destroyed.reset();
    CHECK(wheel.advance(kStart + hours{1}) == 0);
    CHECK(cancelled.fired == 0);
}

TEST_CASE("arming again moves a timer") {
    TimingWheel wheel{kStart};
    Probe probe;
    wheel.schedule(probe, kStart + milliseconds{10});
    wheel.schedule(probe, kStart + milliseconds{500});
    wheel.advance(kStart + milliseconds{499});
    CHECK(probe.fired == 0);
    wheel.advance(kStart + milliseconds{500});
    CHECK(probe.fired == 1);
}

TEST_CASE("a timer that cancels its neighbour is obeyed") {
    TimingWheel wheel{kStart};
    Probe first;
    auto second = std::make_unique<Probe>();
    first.then = [&] { second.reset(); };
    wheel.schedule(first, kStart + milliseconds{10});
    wheel.schedule(*second, kStart + milliseconds{10});
    CHECK(wheel.advance(kStart + milliseconds{10}) == 1);
}

TEST_CASE("a timer that arms itself without delay fires once in each millisecond") {
    TimingWheel wheel{kStart};
    Probe probe;
    probe.then = [&] { wheel.schedule(probe, kStart); };
    wheel.schedule(probe, kStart);
    wheel.advance(kStart + milliseconds{100});
    CHECK(probe.fired == 100);
}

TEST_CASE("the next wake-up is never later than the first timer") {
    TimingWheel wheel{kStart};
    CHECK_FALSE(wheel.next_wake());
    Probe probe;
    wheel.schedule(probe, kStart + milliseconds{5'000});
    int wakes = 0;
    while (probe.fired == 0) {
        REQUIRE(wheel.next_wake());
        REQUIRE(*wheel.next_wake() <= kStart + milliseconds{5'000});
        wheel.advance(*wheel.next_wake());
        ++wakes;
    }
    CHECK(wakes <= 4);  // one for each level
    CHECK_FALSE(wheel.next_wake());
}

TEST_CASE("any mix of timers fires in order and on time") {
    const auto seed = GENERATE(range(0U, 30U));
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    // Spans around every level's border, also when the wheel has been turning for long.
    const auto span = [&] {
        const std::int64_t borders[] = {1, 64, 4'096, 262'144, 16'777'216, 40'000'000};
        return milliseconds{static_cast<std::int64_t>(random() % 200) +
                            borders[random() % std::size(borders)]};
    };
    TimingWheel wheel{kStart};
    auto now = kStart + span() + span();
    wheel.advance(now);

    struct Expected {
        Probe probe;
        core::MonoTime due;
        core::MonoTime at;
    };
    std::vector<std::unique_ptr<Expected>> all;
    for (int i = 0; i < 200; ++i) {
        auto& e = *all.emplace_back(std::make_unique<Expected>());
        e.due = now + span();
        e.probe.then = [&e, &now] { e.at = now; };
        wheel.schedule(e.probe, e.due);
        if (i % 3 == 0) {
            now += span() / 50;
            now = std::chrono::floor<milliseconds>(now);
            wheel.advance(now);
        }
    }
    while (wheel.next_wake()) {
        now = std::max(now, *wheel.next_wake());
        wheel.advance(now);
    }
    for (const auto& e : all) {
        REQUIRE(e->probe.fired == 1);
        REQUIRE(e->at >= e->due);
    }
    // Entries that no jump of the test's clock overtook fired exactly when due.
    const auto exact =
        std::count_if(all.begin(), all.end(), [](const auto& e) { return e->at == e->due; });
    CHECK(exact > 50);
}
