#include "console/cluster/ownership_view.hpp"

#include "console/cluster/cluster_json.hpp"
#include "records/ownership.hpp"
#include "support/memory_log.hpp"
#include "support/publish.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::console;
using namespace std::chrono_literals;

namespace {

const core::NodeId kA{"node-a"};
const core::NodeId kB{"node-b"};

/// A log with records of `ownership`, and the view that reads it.
class Ownership {
public:
    void write(const core::Record& record) {
        test::publish(log, {log::Topic::kOwnership, 0}, record);
    }
    bool wait(const std::function<bool()>& what) {
        return executor.wait_until(what, clock.mono() + 10s);
    }
    /// The view of a reader with that clock, once it has read all.
    std::unique_ptr<OwnershipView> view(const core::Clock& now,
                                        OwnershipView::Options options = {1}) {
        auto made = std::make_unique<OwnershipView>(options, log, executor, now);
        REQUIRE(wait([&] { return made->complete(); }));
        return made;
    }
    /// The report of a process, to be written.
    cluster::ProcessRecord process(const std::string& role, const std::string& id,
                                   const std::string& name) const {
        cluster::ProcessRecord record;
        record.role = role;
        record.id = id;
        record.name = name;
        record.at = record.started = clock.wall();
        return record;
    }

    core::SystemClock clock;
    log::BlockingExecutor executor;
    log::MemoryLog log{{.clock = &clock}};
};

}  // namespace

TEST_CASE("the page shows the home of each partition, and moves under way") {
    Ownership world;
    world.write(encode(cluster::ControllerClaim{.role = "edge", .epoch = 1, .node = kA}));
    world.write(encode(
        cluster::NodeRecord{.role = "edge", .node = kA, .link_url = "a:8081", .ready = {0}}));
    world.write(
        encode(cluster::NodeRecord{.role = "edge", .node = kB, .link_url = "b:8081", .ready = {}}));
    world.write(encode(cluster::PlacementRecord{
        .role = "edge", .partition = 0, .home = kA, .standbys = {kB}, .epoch = 1}));
    world.write(encode(cluster::PlacementRecord{
        .role = "edge", .partition = 1, .home = kB, .standbys = {}, .epoch = 1}));
    const auto view = world.view(world.clock, {2, Unreported::alive});

    const auto roles = view->roles();
    REQUIRE(roles.size() == 1);
    CHECK(roles[0].role == "edge");
    REQUIRE(roles[0].partitions.size() == 2);
    CHECK(roles[0].partitions[0].state == cluster::PartitionState::serving);
    CHECK(roles[0].partitions[1].state == cluster::PartitionState::restoring);
    CHECK(view->reader_of("edge", 1).name == "node-b");
    CHECK(view->reader_of("retry", 1).dead);
    CHECK_FALSE(view->reader_of("of-others", 1).dead);
}

TEST_CASE("a node that goes is gone from the page") {
    Ownership world;
    world.write(
        encode(cluster::NodeRecord{.role = "retry", .node = kA, .link_url = "", .ready = {}}));
    OwnershipView view{{1, Unreported::alive}, world.log, world.executor, world.clock};
    REQUIRE(world.wait([&] { return view.roles().size() == 1; }));
    world.write(encode(cluster::NodeRecord{
        .role = "retry", .node = kA, .link_url = "", .ready = {}, .removed = true}));
    REQUIRE(world.wait([&] { return view.roles().empty(); }));
}

TEST_CASE("the page names links, clients and both nodes of a hand-over") {
    cluster::OwnershipFold fold{"edge", 1};
    const auto apply = [&](const core::Record& record) {
        core::RecordView view;
        view.key = record.key;
        if (record.value) view.value = *record.value;
        fold.apply(view);
    };
    apply(encode(cluster::NodeRecord{.role = "edge",
                                     .node = kA,
                                     .link_url = "a:8081",
                                     .ready = {0},
                                     .clients = 7,
                                     .links = {kB}}));
    apply(encode(cluster::PlacementRecord{
        .role = "edge", .partition = 0, .home = kB, .standbys = {kA}, .epoch = 1}));
    apply(encode(cluster::EpochRecord{.role = "edge", .partition = 0, .epoch = 4, .node = kA}));
    const auto page =
        nlohmann::json::parse(to_json({overview_of(fold, [](const auto&) { return true; })}, true));
    const auto& node = page["roles"][0]["nodes"][0];
    CHECK(node["clients"] == 7);
    CHECK(node["links"] == nlohmann::json{"node-b"});
    const auto& partition = page["roles"][0]["partitions"][0];
    CHECK(partition["state"] == "moving");
    CHECK(partition["from"] == "node-a");
    CHECK(partition["home"] == "node-b");
    CHECK(partition["ready"] == nlohmann::json{"node-a"});
}

namespace {

/// The system's clock, so much later.
struct ShiftedClock final : core::Clock {
    explicit ShiftedClock(std::chrono::seconds shift) : by(shift) {}
    core::Timestamp wall() const override { return core::SystemClock{}.wall() + by; }
    core::MonoTime mono() const override { return core::SystemClock{}.mono(); }
    std::chrono::seconds by;
};

/// An edge with partition 0, whose process was heard of last at `heard`.
void write_edge(Ownership& world, core::Timestamp heard) {
    world.write(encode(cluster::NodeRecord{.role = "edge",
                                           .node = kA,
                                           .link_url = "a:8081",
                                           .ready = {0},
                                           .clients = 7,
                                           .name = "disk-a"}));
    world.write(encode(cluster::PlacementRecord{
        .role = "edge", .partition = 0, .home = kA, .standbys = {}, .epoch = 0}));
    auto process = world.process("edge", "disk-a", "edge-1:8080");
    process.at = process.started = heard;
    world.write(encode(process));
}

}  // namespace

TEST_CASE("the last node of a role that is silent is dead, though no controller removes it") {
    Ownership world;
    write_edge(world, world.clock.wall());
    const ShiftedClock later{26s};
    const auto view = world.view(later);
    const auto roles = view->roles();
    REQUIRE(roles.size() == 1);
    CHECK_FALSE(roles[0].nodes[0].alive);
    CHECK_FALSE(roles[0].nodes[0].clients);
    CHECK(roles[0].partitions[0].state == cluster::PartitionState::unplaced);
    CHECK(view->reader_of("edge", 0).dead);
    CHECK(view->reader_of("endpoint", 0).dead);
    CHECK(view->homeless().size() == 1);
}

TEST_CASE("each endpoint's view is named, and one that is silent is dead") {
    Ownership world;
    for (const auto* host : {"one", "two"}) {
        auto process = world.process("endpoint", host, host + std::string{":9091"});
        process.view = {host == std::string{"one"} ? 200 : 40};
        world.write(encode(process));
    }
    ShiftedClock now{0s};
    const auto view = world.view(now);
    const auto views = view->views("b.");
    CHECK(views.group == "b.endpoint");
    CHECK(views.next ==
          std::map<std::string, std::vector<core::Offset>>{{"one", {200}}, {"two", {40}}});
    CHECK(view->reader_of("endpoint/two", 0).name == "two");
    now.by = 2h;
    CHECK(view->views("b.").next.empty());
}

TEST_CASE("a silence of all processes is no death once the log was read long ago") {
    Ownership world;
    ShiftedClock now{0s};
    write_edge(world, now.wall());
    const auto view = world.view(now);
    now.by = 60s;
    CHECK(view->roles()[0].nodes[0].alive);
    CHECK(view->homeless().empty());
    CHECK_FALSE(view->reader_of("edge", 0).dead);
}

TEST_CASE("time in which the log could not be read is no silence") {
    Ownership world;
    ShiftedClock now{0s};
    write_edge(world, now.wall());
    const auto view = world.view(now);
    const auto gone = [&] { return view->processes(24h).at(0).gone; };
    now.by = 10s;
    view->log_answers(false);
    now.by = 10min;
    CHECK_FALSE(gone());
    CHECK(view->homeless().empty());
    view->log_answers(true);
    CHECK_FALSE(gone());
    now.by = 10min + 20s;  // a process has the time of a whole silence to be heard again
    CHECK_FALSE(gone());
    now.by = 10min + 40s;
    CHECK(gone());
    view->log_answers(false);  // one that was gone before stays so
    now.by = 30min;
    CHECK(gone());
    view->log_answers(true);
    CHECK(gone());
}

TEST_CASE("a node whose process has said that it ended is dead, though its record stands") {
    Ownership world;
    write_edge(world, world.clock.wall());
    auto ended = world.process("edge", "disk-a", "");
    ended.removed = true;
    world.write(encode(ended));
    const auto view = world.view(world.clock);
    CHECK_FALSE(view->roles()[0].nodes[0].alive);
}

TEST_CASE("the VAPID keys that send most are summed over the endpoints") {
    Ownership world;
    const auto now = world.clock.wall();
    const auto report = [&](const char* name, double sent, core::Duration later) {
        auto process = world.process("endpoint", name, std::string{"endpoint-"} + name + ":8080");
        process.started = core::Timestamp{1s};
        process.at = now + std::chrono::floor<std::chrono::milliseconds>(later);
        process.counters = {{"sender/9c2f", sent}, {"accepted", 7}};
        world.write(encode(process));
    };
    for (const auto* name : {"a", "b"}) report(name, 100, 0s);
    report("a", 130, 10s);
    report("b", 120, 10s);
    const auto view = world.view(world.clock);
    CHECK(view->busiest_senders() == std::map<std::string, double>{{"9c2f", 5.0}});
}

TEST_CASE("the refused POSTs to an endpoint URL are found in the reports of the endpoints") {
    Ownership world;
    for (const auto* name : {"a", "b"}) {
        auto process = world.process("endpoint", name, std::string{"endpoint-"} + name + ":8080");
        process.refused = {{.endpoint = cluster::refused_name("token"),
                            .at = core::Timestamp{*name == 'a' ? 1s : 2s},
                            .status = 401,
                            .problem = "unauthorized",
                            .message = "The request is not authorized.",
                            .count = 2},
                           {.endpoint = cluster::refused_name("another"), .status = 400}};
        world.write(encode(process));
    }
    const auto view = world.view(world.clock);
    const auto found = view->refused("token");
    REQUIRE(found.size() == 2);
    CHECK(found[0].by == "endpoint-b");
    CHECK(view->refused("unknown").empty());
    CHECK(to_text(found) ==
          "POSTs to it that were refused within the last hour, by endpoint:\n"
          "  1970-01-01T00:00:02.000Z endpoint-b: 401 unauthorized: The request is not authorized. "
          "(2 times)\n"
          "  1970-01-01T00:00:01.000Z endpoint-a: 401 unauthorized: The request is not authorized. "
          "(2 times)\n");
    CHECK(refused_json(found)[1]["by"] == "endpoint-a");
}
