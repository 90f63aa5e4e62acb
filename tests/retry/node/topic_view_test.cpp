#include "retry/node/topic_view.hpp"

#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::retry;

// Fails where a turn is bounded by records alone: 200 dead letters of 200 KB held up the thread of
// the API for as long as 40 MB take.
TEST_CASE("a view reads large records a few in a turn, and all in the end", "[retry][node]") {
    constexpr std::size_t kRecords = 200;
    test::ManualClock clock;
    test::SimExecutor executor{clock};
    const auto log = log::make_memory_log({.seed = 1, .partitions = 1, .clock = &clock});
    const auto publisher = log->open_publisher(executor);
    const std::string large(200'000, 'x');
    for (std::size_t i = 0; i < kRecords; ++i) {
        core::Record record{.key = std::to_string(i), .value = large, .headers = {}};
        publisher->publish({log::Topic::kRetryDead, 0}, std::move(record), [](const auto&) {});
    }
    executor.run();

    std::size_t applied = 0;
    TopicView view{{.topic = log::Topic::kRetryDead, .partitions = 1, .node = {"n"}},
                   *log,
                   *publisher,
                   executor,
                   {.apply = [&](core::Partition, const auto&) { ++applied; }, .caught_up = [] {}}};
    view.start();
    std::size_t most = 0;
    for (auto before = applied; executor.step(); before = applied) {
        most = std::max(most, applied - before);
    }
    CHECK(applied >= kRecords);  // and the read barrier
    CHECK(most <= 2);
    CHECK(view.caught_up());
}
