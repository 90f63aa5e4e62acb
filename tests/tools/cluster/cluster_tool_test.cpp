#include "tools/cluster/cluster_tool.hpp"

#include "console/cluster/cluster_json.hpp"
#include "core/clock.hpp"
#include "log/blocking_executor.hpp"
#include "records/ownership.hpp"
#include "support/memory_log.hpp"
#include "support/publish.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using cluster::ControllerClaim;
using cluster::EpochRecord;
using cluster::NodeRecord;
using cluster::PlacementRecord;

namespace {

constexpr core::Partition kPartitions = 2;
const core::NodeId kOne{"1111111111111111"};
const core::NodeId kTwo{"2222222222222222"};

/// A log with the node records of two edges.
struct World {
    void write(log::TopicPartition where, const core::Record& record) {
        test::publish(*log, where, record);
    }
    void own(const core::Record& record) { write({log::Topic::kOwnership, 0}, record); }
    /// Two edges; the second is about to take partition 1.
    void two_edges() {
        own(encode(ControllerClaim{"edge", 1, kOne}));
        NodeRecord one{"edge", kOne, "10.0.0.1:8081", {0, 1}, false, 7, {kTwo}};
        one.load = {{0, 250}};
        own(encode(one));
        own(encode(NodeRecord{"edge", kTwo, "10.0.0.2:8081", {1}}));
        own(encode(NodeRecord{"retry", kOne, "", {}}));
        own(encode(PlacementRecord{"edge", 0, kOne, {kTwo}, 1}));
        own(encode(PlacementRecord{"edge", 1, kTwo, {kOne}, 1}));
        own(encode(EpochRecord{"edge", 0, 3, kOne}));
        own(encode(EpochRecord{"edge", 1, 4, kOne}));
    }
    cluster::RoleOverview view(console::Unreported unreported = console::Unreported::alive) {
        tools::Ownership ownership{{kPartitions, unreported}, *log};
        const auto role = tools::read_cluster(*log, ownership, "edge", 5s);
        REQUIRE(role);
        return *role;
    }

    core::SystemClock clock;
    log::BlockingExecutor executor;
    std::unique_ptr<log::MemoryLog> log =
        log::make_memory_log({.partitions = kPartitions, .clock = &clock});
};

}  // namespace

TEST_CASE("lag is what the home has not committed") {
    World world;
    world.two_edges();
    const log::TopicPartition where{log::Topic::kNotifications, 0};
    for (int i = 0; i < 5; ++i) world.write(where, {std::to_string(i), "", {}});
    bool done = false;
    world.log->commit("edge", {{where, 2}}, world.executor, [&](const auto&) { done = true; });
    REQUIRE(world.executor.wait_until([&] { return done; }, world.clock.mono() + 5s));
    const auto view = world.view();
    CHECK(view.partitions[0].lag == 3);
    CHECK_FALSE(view.partitions[1].lag);  // nobody else reports
}

TEST_CASE("a cluster that never was says so") {
    World world;
    CHECK(tools::cluster_table(world.view()) ==
          "No node of the role edge has ever run on this log.\n");
    CHECK_FALSE(tools::is_well(world.view()));
}

TEST_CASE("the table of a cluster has a row for each node and partition") {
    World world;
    world.two_edges();
    CHECK(tools::cluster_table(world.view()) ==
          "NODE              LINK ADDRESS   CLIENTS  LINKS   HOME OF  STANDBY OF  \n"
          "1111111111111111  10.0.0.1:8081  7        1 of 1  1        1           controller\n"
          "2222222222222222  10.0.0.2:8081  -        0 of 1  1        1           \n"
          "\n"
          "PARTITION  HOME                                                 EPOCH  LAG  RECORDS/S  "
          "STANDBYS\n"
          "0          1111111111111111                                     3      -    250        "
          "2222222222222222 (warming up)\n"
          "1          2222222222222222 (takes over from 1111111111111111)  4      -    -          "
          "1111111111111111 (ready)\n");
}

TEST_CASE("a hot partition is marked, with what to do") {
    World world;
    world.two_edges();
    const auto quiet = tools::cluster_table(world.view());
    CHECK(quiet.find("hot") == std::string::npos);
    NodeRecord two{"edge", kTwo, "10.0.0.2:8081", {1}};
    two.load = {{1, 9'000}};
    world.own(encode(two));
    const auto table = tools::cluster_table(world.view());
    CHECK(table.find(" 9000 (hot) ") != std::string::npos);
    CHECK(table.find("`beckon replay show --topic notifications --partition 1 --since -10s "
                     "--limit 20`") != std::string::npos);
    CHECK(table.find("Limit its sender.") != std::string::npos);
    const auto json = console::to_json({world.view()}, true);
    CHECK(json.find(R"("hot":false,"lag":null,"load":250)") != std::string::npos);
    CHECK(json.find(R"("hot":true,"lag":null,"load":9000)") != std::string::npos);
}
