#include "edge/lag_reports.hpp"

#include "records/edge_lag.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <memory>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using cluster::EdgeLagRecord;

namespace {

struct World {
    using Partitions = std::vector<core::Partition>;
    /// All that the edge has said so far.
    std::vector<Partitions> said() const {
        std::vector<Partitions> out;
        for (const auto& stored : log->records({log::Topic::kOwnership, 0})) {
            core::RecordView view;
            view.key = stored.record.key;
            if (stored.record.value) view.value = *stored.record.value;
            const auto record = cluster::decode_edge_lag(view);
            REQUIRE(record);
            CHECK(record->node.text == "n1");
            out.push_back(record->partitions);
        }
        return out;
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log = log::make_memory_log({.seed = 1, .clock = &clock});
    edge::LagReports reports{{"n1"}, 2, *log, executor, clock};
};

}  // namespace

TEST_CASE("an edge names partitions while it is far behind there, and says once when it is not") {
    World world;
    world.executor.run_for(5s);
    CHECK(world.said().empty());
    world.reports.measured(0, {{0, 499ms}, {1, 0ms}});
    world.executor.run_for(1s);
    CHECK(world.said().empty());
    world.reports.measured(0, {{0, 499ms}, {4, 500ms}});
    world.reports.measured(1, {{3, 700ms}});
    world.executor.run_for(EdgeLagRecord::kEvery);
    CHECK(world.said() == std::vector<World::Partitions>{{3, 4}});
    world.reports.measured(1, {{3, 0ms}});
    world.executor.run_for(EdgeLagRecord::kEvery);
    CHECK(world.said() == std::vector<World::Partitions>{{3, 4}, {4}});
    world.reports.measured(0, {{0, 0ms}, {4, 0ms}});
    world.executor.run_for(5s);
    CHECK(world.said() == std::vector<World::Partitions>{{3, 4}, {4}, {}});
}

TEST_CASE("a shard that has nothing to do any more is not behind") {
    World world;
    world.reports.measured(0, {{2, 10s}});
    world.executor.run_for(5s);
    const auto said = world.said();
    REQUIRE(said.size() >= 2);
    CHECK(said.front() == World::Partitions{2});
    CHECK(said.back().empty());
}
