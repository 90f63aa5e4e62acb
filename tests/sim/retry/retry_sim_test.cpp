#include "core/logger.hpp"
#include "sim/retry/retry_world.hpp"

#include <catch2/catch.hpp>

using namespace beckon::sim;

namespace {

constexpr std::uint64_t kSeedsOfRetry = 16;

RetryWorld::Tally live_retry(std::uint64_t seed, Clocks clocks) {
    CAPTURE(seed);
    RetryWorld world{seed, clocks};
    world.live(retry_story_of(seed, clocks));
    CHECK(world.broken == std::vector<std::string>{});
    return world.tally;
}

std::uint64_t fingerprint_of_retry(std::uint64_t seed, Clocks clocks) {
    RetryWorld world{seed, clocks};
    world.live(retry_story_of(seed, clocks));
    return world.fingerprint();
}

}  // namespace

// Thousands of seeds run in the tests `sim retry: …`; here the runs are held to be about something.

TEST_CASE("a world of webhooks is about something") {
    beckon::core::configure_logging(beckon::core::LogLevel::error, beckon::core::LogFormat::text);
    for (const auto clocks : {Clocks::right, Clocks::hostile}) {
        RetryWorld::Tally sum;
        for (std::uint64_t seed = 0; seed < kSeedsOfRetry; ++seed) {
            const auto tally = live_retry(seed, clocks);
            sum.events += tally.events;
            sum.attempts += tally.attempts;
            sum.delivered += tally.delivered;
            sum.letters += tally.letters;
            sum.redriven += tally.redriven;
            sum.repeated += tally.repeated;
            sum.prompt += tally.prompt;
            sum.kills += tally.kills;
            sum.moves += tally.moves;
            sum.clock_steps += tally.clock_steps;
        }
        CHECK(sum.events > 100 * kSeedsOfRetry);
        CHECK(sum.attempts > 500 * kSeedsOfRetry);
        CHECK(sum.delivered > 400 * kSeedsOfRetry);
        CHECK(sum.letters > kSeedsOfRetry);
        CHECK(sum.redriven > kSeedsOfRetry);
        CHECK(sum.repeated > 0);  // what a crash costs
        CHECK(sum.prompt > 10 * kSeedsOfRetry);
        CHECK(sum.kills > kSeedsOfRetry);
        CHECK(sum.moves > 3 * kSeedsOfRetry);
        CHECK((sum.clock_steps > 0) == (clocks == Clocks::hostile));
    }
}

TEST_CASE("a seed of webhooks replays exactly") {
    beckon::core::configure_logging(beckon::core::LogLevel::error, beckon::core::LogFormat::text);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const auto first = fingerprint_of_retry(seed, Clocks::right);
        const auto between = fingerprint_of_retry(seed + 100, Clocks::hostile);
        CHECK(fingerprint_of_retry(seed, Clocks::right) == first);
        CHECK(fingerprint_of_retry(seed + 100, Clocks::hostile) == between);
        CHECK(first != between);
    }
}
