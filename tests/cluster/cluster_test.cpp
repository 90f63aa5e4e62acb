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

std::vector<core::NodeId> rank_by_id(core::Partition p, const std::vector<core::NodeId>& alive) {
    return cluster::rank(p, alive, [](const auto& node) -> std::string_view { return node.text; });
}

}  // namespace

TEST_CASE("rendezvous hashing moves only the partitions of the node that went", "[cluster]") {
    const std::vector<core::NodeId> three = {{"a"}, {"b"}, {"c"}};
    const std::vector<core::NodeId> two = {{"a"}, {"c"}};
    std::map<std::string, int> homes;
    for (core::Partition p = 0; p < 3000; ++p) {
        const auto before = rank_by_id(p, three);
        const auto after = rank_by_id(p, two);
        ++homes[before.front().text];
        // The second in rank is the standby and the next home.
        CHECK(after.front() == (before.front().text == "b" ? before[1] : before.front()));
    }
    for (const auto& [node, count] : homes) CHECK(count > 850);
}

TEST_CASE("a node that joins takes its share, and nothing else moves", "[cluster]") {
    constexpr core::Partition kMany = 3000;
    const std::vector<core::NodeId> three = {{"a"}, {"b"}, {"c"}};
    const std::vector<core::NodeId> four = {{"a"}, {"b"}, {"c"}, {"d"}};
    int moved = 0;
    for (core::Partition p = 0; p < kMany; ++p) {
        const auto before = rank_by_id(p, three).front();
        const auto after = rank_by_id(p, four).front();
        if (before == after) continue;
        CHECK(after.text == "d");
        ++moved;
    }
    CHECK(moved > kMany / 4 * 85 / 100);
    CHECK(moved < kMany / 4 * 115 / 100);
}

TEST_CASE("from any placement and readiness a partition moves once and then stays", "[cluster]") {
    const std::vector<core::NodeId> alive = {{"a"}, {"b"}, {"c"}, {"d"}};
    constexpr unsigned kReadySets = 1U << 4;
    for (core::Partition p = 0; p < 50; ++p) {
        for (unsigned is_ready = 0; is_ready < kReadySets; ++is_ready) {
            const auto ready = [&](const core::NodeId& node) {
                return (is_ready >> static_cast<unsigned>(node.text[0] - 'a') & 1U) != 0;
            };
            for (const char* home : {"a", "b", "c", "d", "dead"}) {
                const Placement before{{home}, {}, 1};
                const auto place = [&](const Placement& now) {
                    return cluster::place(
                        {.partition = p,
                         .now = now,
                         .alive = alive,
                         .name = [](const auto& node) -> std::string_view { return node.text; },
                         .ready = ready,
                         .standby_count = 1,
                         .controller_epoch = 1});
                };
                const auto after = place(before);
                REQUIRE(after);  // it has no standby yet
                CHECK_FALSE(place(*after));
                const bool lived = cluster::contains(alive, before.home);
                CHECK((!lived || after->home == before.home || ready(after->home)));
            }
        }
    }
}

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
    const auto wants = [&](core::Partition p) { return rank_by_id(p, {{"a"}, {"b"}})[0].text; };
    for (core::Partition p = 0; p < kPartitions; ++p) {
        CHECK(b.reported[p].standbys == std::vector<core::NodeId>{{"b"}});
    }

    b.cluster->set_ready(all());
    world.executor.run_for(2s);
    CHECK(a.reported == b.reported);
    for (core::Partition p = 0; p < kPartitions; ++p) CHECK(a.reported[p].home.text == wants(p));
    CHECK(!b.homes().empty());
    CHECK(!a.homes().empty());
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
    std::set<core::Partition> wanted;
    for (core::Partition p = 0; p < kPartitions; ++p) {
        if (rank_by_id(p, {{"a"}, {"b"}})[0].text == "b") wanted.insert(p);
    }
    REQUIRE(wanted.size() > 1);
    std::set<core::Partition> taken;
    while (taken != wanted) {
        world.executor.run_for(2s);
        const auto homes = b.homes();
        REQUIRE(homes.size() == taken.size() + 1);
        for (const auto p : homes) {
            if (taken.insert(p).second) announce(p, 2, "b");
        }
    }
    world.executor.run_for(2s);
    CHECK(b.homes() == wanted);
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

TEST_CASE("a process stands beside its predecessor in rank while the group still has both",
          "[cluster]") {
    const std::vector<core::NodeId> alive = {{"a"}, {"before"}, {"c"}, {"now"}};
    const auto name = [](const auto& node) -> std::string_view {
        return node.text == "before" || node.text == "now" ? "duplicates"
                                                           : std::string_view{node.text};
    };
    for (core::Partition p = 0; p < 100; ++p) {
        const auto ranked = cluster::rank(p, alive, name);
        const auto of = [&](const char* node) {
            return std::find(ranked.begin(), ranked.end(), core::NodeId{node}) - ranked.begin();
        };
        CHECK(std::abs(of("before") - of("now")) == 1);
    }
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
