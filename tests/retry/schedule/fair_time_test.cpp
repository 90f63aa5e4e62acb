#include "retry/schedule/fair_time.hpp"

#include <map>
#include <string>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using retry::FairTime;

namespace {

constexpr core::MonoTime kBegin{1h};

/// Each owner uses its time every 10 ms, for five seconds; returns the end.
core::MonoTime use(FairTime& times, const std::map<std::string, core::Duration>& owners,
                   core::MonoTime from = kBegin) {
    for (auto now = from; now < from + 5s; now += 10ms) {
        for (const auto& [owner, time] : owners) {
            times.spend(owner, time, now);
            static_cast<void>(times.is_above_share(owner, now));
        }
    }
    return from + 5s;
}

}  // namespace

TEST_CASE("an owner that is alone has the whole part of the thread", "[retry][fairness]") {
    FairTime times;
    auto now = use(times, {{"a", 2ms}});  // a fifth of the time
    CHECK_FALSE(times.is_above_share("a", now));
    now = use(times, {{"a", 3ms}}, now);
    CHECK(times.is_above_share("a", now));
    CHECK_FALSE(times.is_above_share("b", now));
}

TEST_CASE("an owner is judged by what it used of late alone", "[retry][fairness]") {
    FairTime times;
    const auto now = use(times, {{"a", 9ms}});
    REQUIRE(times.is_above_share("a", now));
    CHECK(times.is_above_share("a", now + 1s));
    CHECK_FALSE(times.is_above_share("a", now + 2s));
    CHECK(times.size() == 1);
    CHECK_FALSE(times.is_above_share("a", now + 10s));
    CHECK(times.size() == 0);
}

TEST_CASE("owners that use much leave their share to none that uses little",
          "[retry][fairness][bounds]") {
    FairTime times;
    std::map<std::string, core::Duration> owners;
    for (int i = 0; i < 40; ++i) owners["small" + std::to_string(i)] = 10us;
    for (int i = 0; i < 10; ++i) owners["large" + std::to_string(i)] = 400us;
    owners["healthy"] = 100us;
    const auto now = use(times, owners);
    // 250 ms, less 40 and 10 of those below their share: 20 ms for each of the large ones.
    for (const auto& [owner, time] : owners) {
        INFO(owner);
        CHECK(times.is_above_share(owner, now) == owner.starts_with("large"));
    }
}

TEST_CASE("a burst counts at once", "[retry][fairness]") {
    FairTime times;
    times.spend("a", 249ms, kBegin);
    CHECK_FALSE(times.is_above_share("a", kBegin));
    times.spend("a", 2ms, kBegin + 1ms);
    CHECK(times.is_above_share("a", kBegin + 1ms));
}
