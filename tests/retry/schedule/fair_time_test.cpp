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
            static_cast<void>(times.is_beyond_part(owner, now));
        }
    }
    return from + 5s;
}

}  // namespace

TEST_CASE("an owner that is alone has the whole part of the thread", "[retry][fairness]") {
    FairTime times;
    auto now = use(times, {{"a", 900us}});  // nine hundredths of the time
    CHECK_FALSE(times.is_beyond_part("a", now));
    now = use(times, {{"a", 1200us}}, now);
    CHECK(times.is_beyond_part("a", now));
    CHECK_FALSE(times.is_beyond_part("b", now));
}

TEST_CASE("an owner is judged by what it used of late alone", "[retry][fairness]") {
    FairTime times;
    const auto now = use(times, {{"a", 9ms}});
    REQUIRE(times.is_beyond_part("a", now));
    CHECK(times.is_beyond_part("a", now + 2s));
    CHECK_FALSE(times.is_beyond_part("a", now + 3s));
    CHECK(times.size() == 1);
    CHECK_FALSE(times.is_beyond_part("a", now + 10s));
    CHECK(times.size() == 0);
}

TEST_CASE("of owners those who use most are beyond the part, and none that uses less",
          "[retry][fairness][bounds]") {
    FairTime times;
    std::map<std::string, core::Duration> owners;
    for (int i = 0; i < 40; ++i) owners["small" + std::to_string(i)] = 20us;
    for (int i = 0; i < 10; ++i) owners["large" + std::to_string(i)] = 600us;
    owners["healthy"] = 100us;
    const auto now = use(times, owners);
    // 100 ms, of which all others hold 90.
    for (const auto& [owner, time] : owners) {
        INFO(owner);
        CHECK(times.is_beyond_part(owner, now) == owner.starts_with("large"));
    }
}

TEST_CASE("of owners that use alike as many are within the part as fit", "[retry][fairness]") {
    FairTime times;
    std::map<std::string, core::Duration> owners;
    for (int i = 0; i < 20; ++i) owners["alike" + std::to_string(i)] = 100us + i * 1us;
    const auto now = use(times, owners);
    int within = 0;
    for (const auto& [owner, time] : owners) within += times.is_beyond_part(owner, now) ? 0 : 1;
    CHECK(within == 9);
}

TEST_CASE("a burst counts at once", "[retry][fairness]") {
    FairTime times;
    times.spend("a", 99ms, kBegin);
    CHECK_FALSE(times.is_beyond_part("a", kBegin));
    times.spend("a", 2ms, kBegin + 1ms);
    CHECK(times.is_beyond_part("a", kBegin + 1ms));
}
