#include "core/logger.hpp"
#include "sim/shrink.hpp"
#include "sim/sim_world.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace beckon::sim;

namespace {

constexpr std::uint64_t kSeeds = 20;

void quiet() {
    beckon::core::configure_logging(beckon::core::LogLevel::error, beckon::core::LogFormat::text);
}

SimWorld::Tally live(std::uint64_t seed, Clocks clocks) {
    CAPTURE(seed);
    SimWorld world{seed, clocks};
    world.live(story_of(seed, clocks));
    CHECK(world.broken == std::vector<std::string>{});
    return world.tally;
}

std::uint64_t fingerprint_of(std::uint64_t seed, Clocks clocks) {
    SimWorld world{seed, clocks};
    world.live(story_of(seed, clocks));
    return world.fingerprint();
}

}  // namespace

// Thousands of seeds run in the tests `sim: …` beside these; here the runs must have traffic and
// faults.

TEST_CASE("the worlds of the simulation have traffic, kills and moves") {
    quiet();
    SimWorld::Tally sum;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const auto tally = live(seed, Clocks::right);
        sum.answered_201 += tally.answered_201;
        sum.received += tally.received;
        sum.acked += tally.acked;
        sum.kills += tally.kills;
        sum.registered += tally.registered;
        sum.moves += tally.moves;
        sum.links += tally.links;
        sum.wrong_suspicions += tally.wrong_suspicions;
        sum.failovers += tally.failovers;
        sum.quick_failovers += tally.quick_failovers;
        sum.ends_counted += tally.ends_counted;
    }
    CHECK(sum.answered_201 > 30 * kSeeds);
    CHECK(sum.received > 25 * kSeeds);
    CHECK(sum.acked > 20 * kSeeds);
    CHECK(sum.registered > 5 * kSeeds);
    CHECK(sum.kills > kSeeds);
    CHECK(sum.moves > 2 * kSeeds);
    CHECK(sum.links > 4 * kSeeds);
    CHECK(sum.wrong_suspicions > 0);
    CHECK(sum.quick_failovers > kSeeds / 2);
    CHECK(sum.failovers > sum.quick_failovers);
    CHECK(sum.ends_counted > kSeeds / 2);  // in a sixth of the worlds
}

TEST_CASE("worlds with hostile clocks have traffic and steps of clocks") {
    quiet();
    SimWorld::Tally sum;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const auto tally = live(seed, Clocks::hostile);
        sum.answered_201 += tally.answered_201;
        sum.received += tally.received;
        sum.clock_steps += tally.clock_steps;
        sum.times_lost += tally.times_lost;
    }
    CHECK(sum.answered_201 > 30 * kSeeds);
    CHECK(sum.received > 20 * kSeeds);
    CHECK(sum.clock_steps > 2 * kSeeds);
    CHECK(sum.times_lost > kSeeds / 2);
}

TEST_CASE("a seed replays exactly") {
    quiet();
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const auto first = fingerprint_of(seed, Clocks::right);
        const auto between = fingerprint_of(seed + 100, Clocks::hostile);
        CHECK(fingerprint_of(seed, Clocks::right) == first);
        CHECK(fingerprint_of(seed + 100, Clocks::hostile) == between);
        CHECK(first != between);
    }
}

TEST_CASE("a story that fails is shrunk to the steps that it needs") {
    const auto has = [](const Kept& kept, std::size_t step) {
        return std::find(kept.begin(), kept.end(), step) != kept.end();
    };
    const auto fails = [&](const Kept& kept) { return has(kept, 7) && has(kept, 23); };
    Kept all;
    for (std::size_t i = 0; i < 40; ++i) all.push_back(i);
    CHECK(shrink(all, fails, 400).kept == Kept{7, 23});
    const auto bounded = shrink(all, fails, 3);
    CHECK(bounded.runs == 3);
    CHECK(fails(bounded.kept));
}
