#include "edge/lag_reports.hpp"

#include "records/edge_lag.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <memory>
#include <optional>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using cluster::EdgeLagRecord;

namespace {

struct World {
    using Lags = std::vector<std::optional<std::chrono::milliseconds>>;
    /// All that the edge has said so far.
    Lags said() const {
        Lags out;
        for (const auto& stored : log->records({log::Topic::kOwnership, 0})) {
            core::RecordView view;
            view.key = stored.record.key;
            if (stored.record.value) view.value = *stored.record.value;
            const auto record = cluster::decode_edge_lag(view);
            REQUIRE(record);
            CHECK(record->node.text == "n1");
            out.push_back(record->lag);
        }
        return out;
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log = log::make_memory_log({.seed = 1, .clock = &clock});
    edge::LagReports reports{{"n1"}, 2, *log, executor, clock};
};

}  // namespace

TEST_CASE("an edge says how far it is behind while it is, and once that it is not", "[edge]") {
    World world;
    world.executor.run_for(5s);
    CHECK(world.said().empty());
    world.reports.measured(0, 40ms);
    world.executor.run_for(1s);
    CHECK(world.said().empty());
    world.reports.measured(0, 300ms);
    world.reports.measured(1, 700ms);
    world.executor.run_for(EdgeLagRecord::kEvery);
    CHECK(world.said() == World::Lags{700ms});
    world.reports.measured(1, 0ms);
    world.executor.run_for(EdgeLagRecord::kEvery);
    CHECK(world.said() == World::Lags{700ms, 300ms});
    world.reports.measured(0, 0ms);
    world.executor.run_for(5s);
    CHECK(world.said() == World::Lags{700ms, 300ms, std::nullopt});
}

TEST_CASE("a shard that has nothing to do any more is not behind", "[edge]") {
    World world;
    world.reports.measured(0, 10s);
    world.executor.run_for(5s);
    const auto said = world.said();
    REQUIRE(said.size() >= 2);
    CHECK(said.front() == 10s);
    CHECK(said.back() == std::nullopt);
}
