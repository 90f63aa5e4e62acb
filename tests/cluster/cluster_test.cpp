#include "cluster/cluster.hpp"

#include "cluster/ownership.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using cluster::Cluster;
using cluster::Placement;
using log::Topic;

namespace {

constexpr core::Partition kPartitions = 8;
const log::TopicPartition kOwnership{Topic::kOwnership, 0};

struct World {
    explicit World(std::uint64_t seed = 3)
        : log(log::make_memory_log({.seed = seed,
                                    .partitions = kPartitions,
                                    .clock = &clock,
                                    .append_delay_max = 20ms,
                                    .read_delay_max = 20ms})) {}

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log;
};

struct Node {
    /// `id` is of this process, `name` of the node over all its processes.
    Node(World& w, std::string process, std::string name = {})
        : world(w),
          id{std::move(process)},
          cluster(std::make_unique<Cluster>(
              cluster::ClusterOptions{.role = "edge",
                                      .self = id,
                                      .name = std::move(name),
                                      .partitions = kPartitions,
                                      .link_url = "ws://" + id.text},
              *w.log, w.executor, w.clock,
              Cluster::Events{.placed = [this](core::Partition p, const Placement& placement) {
                  reported[p] = placement;
              }})) {
        beat();
    }
    void beat() {
        world.executor.post_after(1s, [this, weak = std::weak_ptr{alive}] {
            if (weak.expired()) return;
            if (turns) cluster->still_alive();
            beat();
        });
    }
    std::set<core::Partition> homes() const {
        std::set<core::Partition> out;
        for (const auto& [p, placement] : reported) {
            if (placement.home == id) out.insert(p);
        }
        return out;
    }

    World& world;
    core::NodeId id;
    std::map<core::Partition, Placement> reported;
    bool turns = true;  ///< false: its loops hang
    std::shared_ptr<int> alive = std::make_shared<int>();
    std::unique_ptr<Cluster> cluster;
};

std::set<core::Partition> all() { return {0, 1, 2, 3, 4, 5, 6, 7}; }

}  // namespace

TEST_CASE("a lone node is controller and home of everything", "[cluster]") {
    World world;
    Node a{world, "a"};
    world.executor.run_for(2s);
    CHECK(a.cluster->caught_up());
    CHECK(a.homes() == all());
    CHECK(a.cluster->placement(3)->standbys.empty());
}

TEST_CASE("the placement of a former life is not current", "[cluster]") {
    World world;
    {
        Node former{world, "a"};
        world.executor.run_for(2s);
        CHECK(former.cluster->placement_is_current());
    }
    Node b{world, "b"};
    CHECK_FALSE(b.cluster->placement_is_current());
    while (!b.cluster->caught_up()) world.executor.run_for(1ms);
    REQUIRE(b.cluster->placement(3)->home.text == "a");
    CHECK_FALSE(b.cluster->placement_is_current());
    world.executor.run_for(2s);
    CHECK(b.cluster->placement_is_current());
    Node c{world, "c"};
    world.executor.run_for(2s);
    CHECK(c.homes().empty());  // it has nothing yet, and need not
    CHECK(c.cluster->placement_is_current());
}

TEST_CASE("two nodes agree on every placement, and a partition waits for its new home to be ready",
          "[cluster]") {
    World world;
    Node a{world, "a"};
    world.executor.run_for(2s);
    Node b{world, "b"};
    world.executor.run_for(2s);
    CHECK(a.reported == b.reported);
    CHECK(a.homes() == all());  // nothing moves to a cold node
    for (core::Partition p = 0; p < kPartitions; ++p) {
        CHECK(b.reported[p].standbys == std::vector<core::NodeId>{{"b"}});
    }

    b.cluster->set_ready(all());
    world.executor.run_for(2s);
    CHECK(a.reported == b.reported);
    CHECK(a.homes().size() == kPartitions / 2);
    CHECK(b.homes().size() == kPartitions / 2);
}

TEST_CASE("of each node one partition at a time is handed over", "[cluster]") {
    World world;
    Node a{world, "a"};
    world.executor.run_for(2s);
    const auto publisher = world.log->open_publisher(world.executor);
    const auto announce = [&](core::Partition p, core::Epoch epoch, const char* node) {
        publisher->publish(kOwnership, encode(cluster::EpochRecord{"edge", p, epoch, {node}}),
                           [](const auto&) {});
    };
    for (core::Partition p = 0; p < kPartitions; ++p) announce(p, 1, "a");
    Node b{world, "b"};
    b.cluster->set_ready(all());
    std::set<core::Partition> taken;
    while (taken.size() < kPartitions / 2) {
        world.executor.run_for(2s);
        const auto homes = b.homes();
        REQUIRE(homes.size() == taken.size() + 1);
        for (const auto p : homes) {
            if (taken.insert(p).second) announce(p, 2, "b");
        }
    }
    world.executor.run_for(2s);
    CHECK(b.homes() == taken);
}

TEST_CASE("a node that is started again gets the partitions that it had", "[cluster]") {
    World world;
    Node a{world, "a1", "one"};
    auto b = std::make_unique<Node>(world, "b1", "two");
    Node c{world, "c1", "three"};
    for (auto* node : {&a, b.get(), &c}) node->cluster->set_ready(all());
    world.executor.run_for(5s);
    const auto had = b->homes();
    const auto others = std::pair{a.homes(), c.homes()};
    REQUIRE_FALSE(had.empty());

    b.reset();
    world.executor.run_for(20s);
    for (const auto p : had) CHECK(a.reported[p].home.text != "b1");
    b = std::make_unique<Node>(world, "b2", "two");
    b->cluster->set_ready(all());
    world.executor.run_for(5s);
    CHECK(b->homes() == had);
    CHECK(std::pair{a.homes(), c.homes()} == others);
}

TEST_CASE("nothing is placed at a member before its record is read", "[cluster]") {
    World world;
    Node a{world, "a"};
    world.executor.run_for(2s);
    // A member without a node record.
    const auto silent = world.log->join({.group = "edge.members", .self = {"silent"}},
                                        world.executor, [](const auto&) {});
    world.executor.run_for(2s);
    CHECK(a.homes() == all());
    for (core::Partition p = 0; p < kPartitions; ++p) CHECK(a.reported[p].standbys.empty());
}

TEST_CASE("the partitions of a dead node move, whether it was controller or not", "[cluster]") {
    const bool controller_dies = GENERATE(true, false);
    CAPTURE(controller_dies);
    World world;
    auto a = std::make_unique<Node>(world, "a");
    world.executor.run_for(2s);
    auto b = std::make_unique<Node>(world, "b");
    world.executor.run_for(2s);
    b->cluster->set_ready(all());
    world.executor.run_for(2s);
    REQUIRE(!b->homes().empty());

    auto& dead = controller_dies ? a : b;
    auto& left = controller_dies ? b : a;
    dead->turns = false;
    world.executor.run_for(20s);
    CHECK(left->homes() == all());
    const auto epoch = left->cluster->placement(0)->controller_epoch;
    CHECK((controller_dies ? epoch > 1 : epoch == 1));
    dead.reset();
    world.executor.run_for(20s);
    CHECK(left->homes() == all());
}

TEST_CASE("a controller that hung and comes back does not undo its successor", "[cluster]") {
    World world;
    Node a{world, "a"};
    world.executor.run_for(2s);
    Node b{world, "b"};
    world.executor.run_for(2s);
    a.turns = false;
    world.executor.run_for(20s);
    REQUIRE(b.homes() == all());
    a.turns = true;
    world.executor.run_for(20s);
    CHECK(a.reported == b.reported);
    CHECK(b.homes() == all());  // a is not ready for any
}

TEST_CASE("a late placement of a lower controller epoch is ignored and written over", "[cluster]") {
    World world;
    Node a{world, "a"};
    world.executor.run_for(2s);
    auto b = std::make_unique<Node>(world, "b");
    world.executor.run_for(2s);
    a.turns = false;
    world.executor.run_for(20s);  // b is controller, with epoch 2
    const auto before = b->reported;
    const auto publisher = world.log->open_publisher(world.executor);
    publisher->publish(kOwnership, encode(cluster::PlacementRecord{"edge", 5, {"a"}, {}, 1}),
                       [](const auto&) {});
    world.executor.run_for(2s);
    CHECK(b->reported.at(5).home.text == "b");

    // A node that reads only the compacted topic sees the same.
    world.log->compact(kOwnership, 1'000'000, true);
    b->turns = false;
    Node c{world, "c"};
    world.executor.run_for(1s);
    REQUIRE(c.cluster->caught_up());
    CHECK(c.cluster->placement(5)->home.text == "b");
}

TEST_CASE("ownership shows the highest announced epoch of a partition, also after compaction",
          "[cluster]") {
    World world;
    Node a{world, "a"};
    world.executor.run_for(2s);
    const auto publisher = world.log->open_publisher(world.executor);
    for (const core::Epoch epoch : {4, 9, 6}) {  // the last one is late
        publisher->publish(kOwnership, encode(cluster::EpochRecord{"edge", 2, epoch, {"x"}}),
                           [](const auto&) {});
    }
    world.executor.run_for(2s);
    CHECK(a.cluster->highest_epoch(2) == 9);
    CHECK(a.cluster->highest_epoch(3) == 0);
    world.log->compact(kOwnership, 1'000'000, true);
    Node b{world, "b"};
    world.executor.run_for(2s);
    CHECK(b.cluster->highest_epoch(2) == 9);
}

TEST_CASE("a node that starts with an old log places everything anew", "[cluster]") {
    World world;
    {
        Node a{world, "a"};
        world.executor.run_for(2s);
    }
    world.executor.run_for(2s);
    Node b{world, "b"};
    world.executor.run_for(10s);
    CHECK(b.homes() == all());
    CHECK(b.cluster->placement(0)->controller_epoch == 2);
}

TEST_CASE("records of dead nodes are removed, and placements survive a flaky log", "[cluster]") {
    const auto seed = GENERATE(range(0U, 40U));
    CAPTURE(seed);
    World world{seed};
    auto a = std::make_unique<Node>(world, "a");
    world.log->fail_next_publishes(static_cast<int>(seed % 3));
    world.executor.run_for(1s);
    Node b{world, "b"};
    world.log->lose_next_answers(static_cast<int>(seed % 5));
    world.executor.run_for(3s);
    world.log->set_away(true);
    world.executor.run_for(2s);
    world.log->set_away(false);
    a.reset();
    world.executor.run_for(30s);
    CHECK(b.homes() == all());
    std::map<std::string, bool> nodes;
    for (const auto& stored : world.log->records(kOwnership)) {
        if (stored.record.key.starts_with("edge/node/")) {
            nodes[stored.record.key] = stored.record.value.has_value();
        }
    }
    CHECK(nodes == std::map<std::string, bool>{{"edge/node/a", false}, {"edge/node/b", true}});
}
