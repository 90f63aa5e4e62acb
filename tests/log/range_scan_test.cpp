#include "log/range_scan.hpp"

#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using core::Offset;

namespace {

const log::TopicPartition kWhere{log::Topic::kRetryDead, 0};
constexpr std::size_t kRecordBytes = 100'000;

struct World {
    explicit World(int records) {
        const auto publisher = log->open_publisher(executor);
        for (int i = 0; i < records; ++i) {
            publisher->publish(kWhere, {std::to_string(i), std::string(kRecordBytes, 'x'), {}},
                               [](const auto&) {});
        }
        executor.run();
    }
    /// The bytes that were read in each turn of the executor.
    std::vector<std::size_t> scan(log::Range range) {
        std::size_t bytes = 0;
        log::RangeScan scan{
            *log,
            kWhere,
            range,
            executor,
            [&](const core::RecordView& record) {
                bytes += record.value->size();
                seen.push_back(record.offset);
                return log::Next::go_on;
            },
            [this](const auto& result) { end = result ? std::optional{*result} : std::nullopt; }};
        std::vector<std::size_t> turns;
        while (!end && executor.step()) turns.push_back(std::exchange(bytes, 0));
        return turns;
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log = log::make_memory_log({.clock = &clock});
    std::vector<Offset> seen;
    std::optional<Offset> end;
};

}  // namespace

// Fails where a turn is bounded by the number of its records alone: of large ones a redrive would
// hold up every owner's requests.
TEST_CASE("a scan of large records gives others on the thread their turns") {
    World world{50};
    const auto turns = world.scan({1, 49});
    CHECK(world.end == 49);
    CHECK(world.seen.size() == 48);
    CHECK(std::is_sorted(world.seen.begin(), world.seen.end()));
    CHECK(*std::max_element(turns.begin(), turns.end()) <=
          log::RangeScan::kTurnBytes + kRecordBytes);
}

TEST_CASE("a range whose sink throws is answered at once") {
    World world{3};
    std::optional<core::Fault> fault;
    log::RangeScan scan{*world.log,
                        kWhere,
                        {0, 3},
                        world.executor,
                        [](const core::RecordView&) -> log::Next { throw std::bad_alloc{}; },
                        [&](const auto& result) { fault = result.error().fault; }};
    world.executor.run_for(std::chrono::milliseconds{100});
    CHECK(fault == core::Fault::unavailable);
}
