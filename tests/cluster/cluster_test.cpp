#include "cluster/cluster.hpp"

#include "core/logger.hpp"
#include "records/ownership.hpp"
#include "support/captured_output.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
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
              Cluster::Events{
                  .placed =
                      [this](core::Partition p, const Placement& placement) {
                          reported[p] = placement;
                          if (changed) changed(p, placement);
                      },
                  .wrongly_suspected = [this] { ++wrong_suspicions; },
                  .failed_over = [this](core::Duration time) { failovers.push_back(time); }})) {
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
    std::function<void(core::Partition, const Placement&)> changed;  ///< after each report
    bool turns = true;                                               ///< false: its loops hang
    int wrong_suspicions = 0;
    std::vector<core::Duration> failovers;
    std::shared_ptr<int> alive = std::make_shared<int>();
    std::unique_ptr<Cluster> cluster;
};

std::set<core::Partition> all() { return {0, 1, 2, 3, 4, 5, 6, 7}; }

/// SIGKILL: the group misses the node only when its time is over.
void kill(World& world, std::unique_ptr<Node>& node) {
    world.log->kill_members(true);
    node.reset();
    world.log->kill_members(false);
}

/// Three nodes that are ready for everything and linked.
struct Three {
    explicit Three(std::uint64_t seed = 3) : world(seed) {
        for (auto* node : {&a, &b, &c}) {
            world.executor.run_for(2s);
            const std::string id{"abc"[started++]};
            *node = std::make_unique<Node>(world, id, "name-" + id);
        }
        world.executor.run_for(2s);
        for (auto* node : {&a, &b, &c}) (*node)->cluster->set_ready(all());
        world.executor.run_for(20s);
    }
    /// The links of the others to a node are lost, and calls to it are refused.
    void refuse(const core::NodeId& node) {
        for (auto* other : {&a, &b, &c}) {
            if (*other && (*other)->id != node) (*other)->cluster->suspect(node);
        }
    }
    /// The partitions of which a node is home, as the others see it.
    std::set<core::Partition> homes_of(const std::string& node) {
        std::set<core::Partition> out;
        for (const auto& [p, placement] : b->reported) {
            if (placement.home.text == node) out.insert(p);
        }
        return out;
    }

    World world;
    std::size_t started = 0;
    std::unique_ptr<Node> a;
    std::unique_ptr<Node> b;
    std::unique_ptr<Node> c;
};

}  // namespace

TEST_CASE("a lone node is controller and home of everything") {
    World world;
    Node a{world, "a"};
    world.executor.run_for(2s);
    CHECK(a.cluster->knows_all());
    CHECK(a.homes() == all());
    CHECK(a.cluster->placement(3)->standbys.empty());
}

TEST_CASE("the placement of a former life is not current") {
    World world;
    {
        Node former{world, "a"};
        world.executor.run_for(2s);
        CHECK(former.cluster->placement_is_current());
    }
    Node b{world, "b"};
    CHECK_FALSE(b.cluster->placement_is_current());
    while (!b.cluster->knows_all()) world.executor.run_for(1ms);
    REQUIRE(b.cluster->placement(3)->home.text == "a");
    CHECK_FALSE(b.cluster->placement_is_current());
    world.executor.run_for(2s);
    CHECK(b.cluster->placement_is_current());
    Node c{world, "c"};
    world.executor.run_for(2s);
    CHECK(c.homes().empty());  // it has nothing yet, and need not
    CHECK(c.cluster->placement_is_current());
}

TEST_CASE(
    "two nodes agree on every placement, and a partition waits for its new home to be ready") {
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

TEST_CASE("of each node one partition at a time is handed over") {
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

TEST_CASE("a node that is started again gets the partitions that it had") {
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

TEST_CASE("nothing is placed at a member before its record is read") {
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

TEST_CASE("the partitions of a dead node move, whether it was controller or not") {
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

TEST_CASE("a controller that hung and comes back does not undo its successor") {
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

TEST_CASE("a late placement of a lower controller epoch is ignored and written over") {
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
    REQUIRE(c.cluster->knows_all());
    CHECK(c.cluster->placement(5)->home.text == "b");
}

// A controller that leaves goes on placing until it has read its successor's claim.
TEST_CASE("late placements of a controller that leaves undo none of its successor's") {
    const auto seed = GENERATE(range(1, 16));
    CAPTURE(seed);
    Three three{static_cast<std::uint64_t>(seed)};
    const auto publisher = three.world.log->open_publisher(three.world.executor);
    std::set<core::Partition> left;
    std::set<core::Partition> came_back;
    three.b->changed = [&](core::Partition p, const Placement& placement) {
        if (placement.home.text != "a") {
            left.insert(p);
        } else if (left.contains(p)) {
            came_back.insert(p);
        }
    };
    REQUIRE(three.a->cluster->leave());
    for (int i = 0; i < 100; ++i) {
        const cluster::PlacementRecord late{"edge", i % kPartitions, {"c"}, {}, 1};
        publisher->publish(kOwnership, encode(late), [](const auto&) {});
        three.world.executor.run_for(2ms);
    }
    three.world.executor.run_for(5s);
    CHECK(left.size() > 1);
    CHECK(came_back.empty());
    CHECK(three.homes_of("a").empty());
}

TEST_CASE("ownership shows the highest announced epoch of a partition, also after compaction") {
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

TEST_CASE("a node that starts with an old log places everything anew") {
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

TEST_CASE("records of dead nodes are removed, and placements survive a flaky log") {
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

TEST_CASE("the partitions of a node that its peers find dead move long before its time is over") {
    const bool controller_dies = GENERATE(true, false);
    CAPTURE(controller_dies);
    Three three;
    const std::string dead = controller_dies ? "a" : "c";
    REQUIRE(!three.homes_of(dead).empty());
    kill(three.world, controller_dies ? three.a : three.c);
    three.refuse({dead});
    three.world.executor.run_for(1s);
    CHECK(three.homes_of(dead).empty());
    // Nothing moves again when the group misses the node too.
    const auto placed = three.b->reported;
    three.world.executor.run_for(20s);
    for (const auto& [p, placement] : three.b->reported) CHECK(placement.home == placed.at(p).home);
}

TEST_CASE("a node that one peer cannot reach keeps its partitions, and so does one that objects") {
    Three three;
    const bool all_of_them = GENERATE(false, true);
    CAPTURE(all_of_them);
    const auto before = three.b->reported;
    const auto epoch = three.b->cluster->placement(0)->controller_epoch;
    if (all_of_them) three.refuse({"a"});
    if (!all_of_them) three.b->cluster->suspect({"a"});
    three.world.executor.run_for(5s);
    CHECK(three.b->reported == before);
    CHECK(three.b->cluster->placement(0)->controller_epoch == epoch);
    CHECK(three.b->wrong_suspicions == 0);
}

TEST_CASE("two nodes that take each other for gone agree on one controller in the end") {
    World world;
    Node a{world, "a"};
    world.executor.run_for(2s);
    Node b{world, "b"};
    world.executor.run_for(2s);
    for (auto* node : {&a, &b}) node->cluster->set_ready(all());
    world.executor.run_for(10s);
    // Neither reads in time that the other one objects.
    world.log->hold_readers(kOwnership, true);
    a.cluster->suspect({"b"});
    b.cluster->suspect({"a"});
    world.executor.run_for(1s);
    world.log->hold_readers(kOwnership, false);
    world.executor.run_for(10s);
    CHECK(a.reported == b.reported);
    CHECK(!a.homes().empty());
    CHECK(!b.homes().empty());
}

TEST_CASE(
    "a process that is started again serves what it had before the group has missed the old") {
    World world;
    auto old = std::make_unique<Node>(world, "a1", "machine");
    world.executor.run_for(2s);
    REQUIRE(old->homes() == all());
    kill(world, old);
    Node a{world, "a2", "machine"};
    world.executor.run_for(1s);
    CHECK(a.homes() == all());
    const auto placed = a.reported;
    world.executor.run_for(20s);
    CHECK(a.homes() == all());
    CHECK(a.reported.at(0).former_home == placed.at(0).former_home);
}

TEST_CASE("a process that is started again after a kill does not call the former one a dead node") {
    test::CapturedStream output{stderr, STDERR_FILENO};
    core::configure_logging(core::LogLevel::info, core::LogFormat::json);
    {
        World world;
        auto old = std::make_unique<Node>(world, "a1", "machine");
        world.executor.run_for(2s);
        kill(world, old);
        const Node a{world, "a2", "machine"};
        world.executor.run_for(20s);
    }
    core::configure_logging(core::LogLevel::error, core::LogFormat::text);
    const auto& text = output.finish();
    CHECK_THAT(text, Catch::Contains("former_process_ended"));
    CHECK_THAT(text, !Catch::Contains("node_gone"));
}

TEST_CASE("a process that is started again gets nothing that another one had") {
    World world;
    auto a = std::make_unique<Node>(world, "a1", "a");
    world.executor.run_for(2s);
    auto b = std::make_unique<Node>(world, "b1", "b");
    world.executor.run_for(2s);
    for (auto* node : {&a, &b}) (*node)->cluster->set_ready(all());
    world.executor.run_for(10s);
    const auto had = a->homes();
    REQUIRE(had.size() == kPartitions / 2);
    kill(world, a);
    kill(world, b);
    Node again{world, "a2", "a"};
    again.cluster->suspect({"b1"});
    world.executor.run_for(500ms);
    again.cluster->suspect({"b1"});
    world.executor.run_for(1s);
    CHECK(again.homes() == had);
    world.executor.run_for(20s);
    CHECK(again.homes() == all());
}

TEST_CASE("a copied data directory takes nothing from the process that has it first") {
    World world;
    Node a{world, "a", "machine"};
    world.executor.run_for(2s);
    Node copy{world, "copy", "machine"};
    world.executor.run_for(20s);
    CHECK(a.homes() == all());
    CHECK(copy.homes().empty());
}

TEST_CASE("a node in a crash loop gets its partitions back once it has lived for a while") {
    Three three;
    auto& world = three.world;
    for (int life = 0; life < 6; ++life) {
        const std::string id = life == 0 ? "c" : "c" + std::to_string(life);
        kill(world, three.c);
        three.refuse({id});
        world.executor.run_for(500ms);
        three.c = std::make_unique<Node>(world, "c" + std::to_string(life + 1), "name-c");
        for (auto* node : {&three.a, &three.b}) {
            (*node)->cluster->set_linked({three.c->id});
        }
        three.c->cluster->set_ready(all());
        world.executor.run_for(500ms);
        if (life >= 2) CHECK(three.homes_of("c" + std::to_string(life + 1)).empty());
    }
    world.executor.run_for(2min);
    CHECK(!three.homes_of("c6").empty());
}

TEST_CASE("a node that leaves is neither suspected nor controller any more") {
    Three three;
    three.a->cluster->leave();
    three.world.executor.run_for(1s);
    CHECK(three.homes_of("a").empty());
    three.refuse({"a"});
    three.world.executor.run_for(1s);
    for (const auto& stored : three.world.log->records(kOwnership)) {
        if (stored.record.value) CHECK(stored.record.value->find("suspects") == std::string::npos);
    }
}

// As when it is stopped while the group takes others in, and so names no new first.
TEST_CASE(
    "a controller that leaves gives its partitions away although the group has no other member") {
    Three three;
    three.b->turns = three.c->turns = false;
    three.world.executor.run_for(20s);
    REQUIRE(three.homes_of("a") == all());
    three.a->cluster->set_linked({{"b"}, {"c"}});
    REQUIRE(three.a->cluster->leave());
    three.world.executor.run_for(500ms);
    CHECK(three.homes_of("a").empty());
    CHECK(three.homes_of("b").size() == kPartitions / 2);
    CHECK(three.homes_of("c").size() == kPartitions / 2);
    three.b->turns = three.c->turns = true;
    three.world.executor.run_for(20s);
    CHECK(three.homes_of("a").empty());
    CHECK(three.homes_of("b").size() == kPartitions / 2);
}

// It may have partitions: the controller gives them to a node with a link that comes back from a
// hang before the group has it again.
TEST_CASE("a node that is not in the group says that it leaves") {
    Three three;
    three.c->turns = false;
    three.world.executor.run_for(20s);
    REQUIRE(three.homes_of("c").empty());
    REQUIRE(three.c->cluster->leave());
    three.world.executor.run_for(1s);
    const auto records = three.world.log->records(kOwnership);
    const auto says = [](const auto& stored) {
        return stored.record.key == "edge/node/c" && stored.record.value &&
               stored.record.value->find(R"("leaving":true)") != std::string::npos;
    };
    CHECK(std::any_of(records.begin(), records.end(), says));
}

TEST_CASE("the controller measures how long a failover took") {
    Three three;
    kill(three.world, three.c);
    three.refuse({"c"});
    // The next homes announce their epochs.
    const auto publisher = three.world.log->open_publisher(three.world.executor);
    three.world.executor.run_for(1s);
    for (const auto& [p, placement] : three.a->reported) {
        publisher->publish(kOwnership, encode(cluster::EpochRecord{"edge", p, 9, placement.home}),
                           [](const auto&) {});
    }
    three.world.executor.run_for(1s);
    REQUIRE(three.a->failovers.size() == 1);
    CHECK(three.a->failovers.front() > 1s);
    CHECK(three.a->failovers.front() < 2s);
    CHECK(three.b->failovers.empty());
}
