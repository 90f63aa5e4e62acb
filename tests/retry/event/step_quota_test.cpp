#include "retry/event/step_quota.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;

TEST_CASE("an owner's filters have the steps of an event, and of a second for many",
          "[retry][event][bounds]") {
    StepQuota quota{4};
    core::Timestamp now{1'000'000ms};
    CHECK(quota.of("a", now).left() == Steps::kMax);
    std::size_t events = 0;
    while (quota.of("a", now).left() == Steps::kMax) {
        quota.spend("a", now, Steps::kMax);
        ++events;
    }
    CHECK(events == StepQuota::kInAdvance / Steps::kMax);
    CHECK(quota.of("a", now).left() == 0);
    CHECK(quota.of("b", now).left() == Steps::kMax);  // others pay nothing
    // A quarter of what a second has is that of one partition of four.
    CHECK(quota.of("a", now + 125ms).left() == StepQuota::kPerSecond / 4 / 8);
    CHECK(quota.of("a", now + 1s).left() == Steps::kMax);
    quota.spend("a", now - 1h, 1);  // the log's time may go back
    CHECK(quota.of("a", now - 1h).left() == 0);
    CHECK(quota.of("a", now + 10min).left() == Steps::kMax);
}

TEST_CASE("an owner that takes as much as it gets goes on at the rate of the quota",
          "[retry][event][bounds]") {
    StepQuota quota{1};
    core::Timestamp now{};
    std::size_t taken = 0;
    for (int i = 0; i < 1'000; ++i) {  // 100 events a second, for ten seconds
        const auto most = quota.of("a", now).left();
        quota.spend("a", now, most);
        taken += most;
        now += 10ms;
    }
    const auto expected = 10 * StepQuota::kPerSecond + StepQuota::kInAdvance;
    CHECK(taken <= expected);
    CHECK(taken > expected * 95 / 100);
}

TEST_CASE("of owners that have waited nothing is remembered", "[retry][event][bounds]") {
    StepQuota quota{1};
    core::Timestamp now{};
    for (int i = 0; i < 100'000; ++i) {
        quota.spend("owner " + std::to_string(i), now, 1'000);
        now += 1ms;
    }
    CHECK(quota.size() < 3'000);
}
