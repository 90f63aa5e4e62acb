#include "retry/home/fan_out/step_quota.hpp"

#include <algorithm>
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

// Fails where each owner has its own budget alone: fifty would take more than there is, and an
// event of another owner would wait for all of theirs.
TEST_CASE("owners together take no more than there is for all, and leave others a share",
          "[retry][event][bounds]") {
    constexpr int kOwners = 50;
    StepQuota quota{1};
    core::Timestamp now{1'000'000ms};
    std::size_t taken = 0;
    std::size_t least = Steps::kMax;  // that is left to an owner who has taken nothing
    for (int i = 0; i < 10'000; ++i) {
        const auto owner = "hostile " + std::to_string(i % kOwners);
        const auto most = quota.of(owner, now).left();
        CHECK(most >= StepQuota::kAlways);
        quota.spend(owner, now, most);
        taken += most;
        now += 1ms;
        if (i >= 2'000)
            least =
                std::min(least, quota.of("healthy", now).left());  // once they have equal shares
    }
    // kAlways of each event is beyond it.
    CHECK(taken <=
          10 * StepQuota::kAllPerSecond + StepQuota::kAllInAdvance + 10'000 * StepQuota::kAlways);
    CHECK(least >= 8 * StepQuota::kAlways);  // hundreds of times what an ordinary filter takes
}

TEST_CASE("alone an owner has all of its own steps", "[retry][event][bounds]") {
    StepQuota quota{16};
    const core::Timestamp now{1'000'000ms};
    for (std::size_t i = 0; i < StepQuota::kInAdvance / Steps::kMax; ++i) {
        CHECK(quota.of("a", now).left() == Steps::kMax);
        quota.spend("a", now, Steps::kMax);
    }
}
