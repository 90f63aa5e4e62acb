#include "console/cluster/ownership_view.hpp"

#include "cluster/ownership.hpp"
#include "console/cluster/cluster_json.hpp"
#include "log/blocking_executor.hpp"
#include "support/memory_log.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::console;
using namespace std::chrono_literals;

namespace {

const core::NodeId kA{"node-a"};
const core::NodeId kB{"node-b"};

/// A log with what `ownership` says, and who looks at it.
class Ownership {
public:
    Ownership() : log({.clock = &clock}), publisher(log.open_publisher(executor)) {}

    void write(const core::Record& record) {
        bool done = false;
        publisher->publish({log::Topic::kOwnership, 0}, record, [&](const auto&) { done = true; });
        executor.wait_until([&] { return done; }, clock.mono() + 10s);
    }
    bool wait(const std::function<bool()>& what) {
        return executor.wait_until(what, clock.mono() + 10s);
    }

    core::SystemClock clock;
    log::BlockingExecutor executor;
    log::MemoryLog log;
    std::unique_ptr<log::Publisher> publisher;
};

}  // namespace

TEST_CASE("the page shows who serves what, and what moves", "[console]") {
    Ownership world;
    world.write(encode(cluster::ControllerClaim{.role = "edge", .epoch = 1, .node = kA}));
    world.write(encode(
        cluster::NodeRecord{.role = "edge", .node = kA, .link_url = "a:8081", .ready = {0}}));
    world.write(encode(cluster::NodeRecord{.role = "edge", .node = kB, .link_url = "b:8081"}));
    world.write(encode(cluster::PlacementRecord{
        .role = "edge", .partition = 0, .home = kA, .standbys = {kB}, .epoch = 1}));
    world.write(
        encode(cluster::PlacementRecord{.role = "edge", .partition = 1, .home = kB, .epoch = 1}));
    OwnershipView view{2, world.log, world.executor};
    REQUIRE(world.wait([&] { return view.complete(); }));

    const auto roles = view.roles();
    REQUIRE(roles.size() == 1);
    CHECK(roles[0].nodes == std::vector<ClusterNode>{{"node-a", "a:8081", 1, 0, true},
                                                     {"node-b", "b:8081", 1, 1, false}});
    REQUIRE(roles[0].partitions.size() == 2);
    CHECK(roles[0].partitions[0].home == "node-a");
    CHECK(roles[0].partitions[0].standbys == std::vector<std::string>{"node-b"});
    CHECK_FALSE(roles[0].partitions[0].moving);
    CHECK(roles[0].partitions[1].moving);
    CHECK(view.home_of("edge", 1) == "node-b");
    CHECK(view.home_of("retry", 1).empty());
    CHECK(to_json(roles, true).find("\"controller\":true") != std::string::npos);
}

TEST_CASE("a node that goes is gone from the page", "[console]") {
    Ownership world;
    world.write(encode(cluster::NodeRecord{.role = "retry", .node = kA, .link_url = ""}));
    OwnershipView view{1, world.log, world.executor};
    REQUIRE(world.wait([&] { return view.roles().size() == 1; }));
    world.write(
        encode(cluster::NodeRecord{.role = "retry", .node = kA, .link_url = "", .removed = true}));
    REQUIRE(world.wait([&] { return view.roles().empty(); }));
}
