#include "fold/restored.hpp"

#include <chrono>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using fold::Phase;
using fold::Progress;
using fold::Restored;

namespace {

constexpr core::MonoTime kBegin{1000s};

/// Of a fold with two inputs, of which the second is at its end.
Progress progress(Phase phase, core::Offset position, core::Offset end) {
    return {.phase = phase,
            .from_start = true,
            .inputs = {{.where = {log::Topic::kNotifications, 0}, .position = position, .end = end},
                       {.where = {log::Topic::kSubscriptions, 0}, .position = 7, .end = 7}},
            .stuck = {}};
}

}  // namespace

TEST_CASE("a restore is measured from where it began") {
    fold::RestoreMeter meter;
    // A checkpoint spared the first thousand records.
    auto now = meter.measure(progress(Phase::restoring, 1000, 2000), kBegin);
    REQUIRE(now);
    CHECK(to_string(*now) == "0 % restored");
    now = meter.measure(progress(Phase::restoring, 1250, 2000), kBegin + 5s);
    REQUIRE(now);
    CHECK(now->folded == 250);
    CHECK(now->left == 750);
    CHECK(to_string(*now) == "25 % restored, 16 s left");
    CHECK_FALSE(meter.measure(progress(Phase::following, 2000, 2000), kBegin + 20s));
}

TEST_CASE("a restore that begins anew is measured anew") {
    fold::RestoreMeter meter;
    meter.measure(progress(Phase::restoring, 1000, 2000), kBegin);
    meter.measure(progress(Phase::restoring, 0, 2000), kBegin + 10s);  // from the log's start
    const auto now = meter.measure(progress(Phase::restoring, 1000, 2000), kBegin + 20s);
    REQUIRE(now);
    CHECK(to_string(*now) == "50 % restored, 11 s left");
}

TEST_CASE("nothing to restore is no restore") {
    fold::RestoreMeter meter;
    CHECK_FALSE(meter.measure(progress(Phase::opening, 0, 10), kBegin));
    CHECK_FALSE(meter.measure(progress(Phase::restoring, 7, 7), kBegin));
}

TEST_CASE("long times are minutes") {
    CHECK(to_string(Restored{.folded = 10, .left = 990, .passed = 3s}) ==
          "1 % restored, 5 min left");
}
