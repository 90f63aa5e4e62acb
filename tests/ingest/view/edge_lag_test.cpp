// Edges that are far behind: their partitions take no message until they have caught up.
#include "records/edge_lag.hpp"

#include "core/partition.hpp"
#include "ingest/ingest_world.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using namespace std::chrono_literals;
using cluster::EdgeLagRecord;
using Partitions = std::vector<core::Partition>;

namespace {

struct LagWorld : IngestWorld {
    LagWorld() : IngestWorld({.bridged_delivery = true, .reads_edge_lag = true}) { run_loops(1s); }

    Partitions all() const {
        Partitions out;
        for (core::Partition p = 0; p < shared_->config.partitions; ++p) out.push_back(p);
        return out;
    }
    core::Partition partition_of(const Target& target) const {
        return core::partition_of(target.uaid, shared_->config.partitions);
    }
    /// An edge that is behind in these partitions, by a second.
    void says(const std::string& node, Partitions partitions) {
        publish({log::Topic::kOwnership, 0},
                encode(EdgeLagRecord{
                    .node = {node}, .lag = 1'000ms, .partitions = std::move(partitions)}));
        run_loops();
    }
    int post(const Target& target) { return ask(IngestWorld::post_data(target.path)).status; }

    const Target to = subscribed();
};

}  // namespace

TEST_CASE("a partition whose edge is far behind takes no message until it has caught up") {
    LagWorld world;
    CHECK(world.post(world.to) == 201);
    world.says("a", {world.partition_of(world.to)});
    const auto refused = world.ask(IngestWorld::post_data(world.to.path));
    CHECK(refused.status == 503);
    CHECK(std::any_of(refused.headers.begin(), refused.headers.end(), [](const auto& header) {
        return header.name == "Retry-After" && header.value == "10";
    }));
    world.says("a", {});
    CHECK(world.post(world.to) == 201);
}

TEST_CASE("the other partitions take messages") {
    LagWorld world;
    auto others = world.all();
    std::erase(others, world.partition_of(world.to));
    world.says("a", others);
    CHECK(world.post(world.to) == 201);
    world.says("b", {world.partition_of(world.to), 1'000'000});
    CHECK(world.post(world.to) == 503);
    world.says("b", {1'000'000});
    CHECK(world.post(world.to) == 201);
}

TEST_CASE("an edge that has died holds up nothing, nor one that was behind before the start") {
    LagWorld world;
    world.says("a", world.all());
    CHECK(world.post(world.to) == 503);
    world.run_loops(EdgeLagRecord::kCountsFor);
    CHECK(world.post(world.to) == 201);

    world.says("a", world.all());
    const ingest::EdgeLag later{world.shared_->config.partitions, *world.log_, world.executor_,
                                world.clock_};
    world.run_loops(1s);
    CHECK_FALSE(later.is_behind(0));
}

TEST_CASE("what an edge said long ago holds up nothing when the endpoint reads it") {
    LagWorld world;
    const log::TopicPartition ownership{log::Topic::kOwnership, 0};
    world.says("b", {1'000'000});  // shows the log's time
    world.log_->hold_readers(ownership, true);
    world.says("a", world.all());
    world.run_loops(10s);
    world.log_->hold_readers(ownership, false);
    world.run_loops(100ms);
    CHECK(world.post(world.to) == 201);
    world.says("a", world.all());
    CHECK(world.post(world.to) == 503);
}

TEST_CASE("an edge's lag counts again some time after the log's clock stepped back") {
    std::chrono::milliseconds back{0};
    ManualClock clock;
    SimExecutor executor{clock};
    const auto log = log::make_memory_log(
        {.seed = 1, .clock = &clock, .stamp = [&](const auto&) { return clock.wall() - back; }});
    const auto publisher = log->open_publisher(executor);
    const ingest::EdgeLag lag{1, *log, executor, clock};
    const auto says_behind = [&] {
        publisher->publish({log::Topic::kOwnership, 0},
                           encode(EdgeLagRecord{.node = {"a"}, .lag = 1'000ms, .partitions = {0}}),
                           [](const core::Result<log::Appended>&) {});
        executor.run_for(500ms);
    };
    executor.run_for(1s);
    says_behind();
    CHECK(lag.is_behind(0));
    back = 10s;
    says_behind();
    CHECK_FALSE(lag.is_behind(0));
    for (int i = 0; i < 200; ++i) says_behind();
    CHECK(lag.is_behind(0));
}

TEST_CASE("of edges that are behind a bounded number is remembered") {
    LagWorld world;
    for (std::size_t i = 0; i < ingest::EdgeLag::kEdgesMax; ++i) {
        world.publish({log::Topic::kOwnership, 0},
                      encode(EdgeLagRecord{
                          .node = {std::to_string(i)}, .lag = 1s, .partitions = {1'000'000}}));
    }
    world.run_loops();
    world.says("one more", world.all());
    CHECK(world.post(world.to) == 201);
    world.says("7", {});
    world.says("one more", world.all());
    CHECK(world.post(world.to) == 503);
}

TEST_CASE("a message for a bridge waits for no edge") {
    LagWorld world;
    const auto target = world.new_target();
    world.subscribe(target.uaid, core::ChannelId{core::random_uuid4()}, core::RouterType::fcm);
    world.says("a", world.all());
    CHECK(world.post(world.to) == 503);
    CHECK(world.post(target) == 201);
}

TEST_CASE("the lag of an edge reads back as it was written") {
    for (const auto& partitions : {Partitions{3, 7}, Partitions{}}) {
        const auto lag = partitions.empty() ? 0ms : 1'234ms;
        const EdgeLagRecord record{.node = {"n1"}, .lag = lag, .partitions = partitions};
        const auto encoded = encode(record);
        core::RecordView view;
        view.key = encoded.key;
        if (encoded.value) view.value = *encoded.value;
        CHECK(cluster::decode_edge_lag(view) == record);
    }
    core::RecordView wrong;
    wrong.key = "lag/n1";
    for (const auto* value : {"", "7", "{}", R"({"lag_ms":"x"})", R"({"lag_ms":null})",
                              R"({"lag_ms":5})", R"({"lag_ms":5,"partitions":["x"]})"}) {
        CAPTURE(value);
        wrong.value = value;
        CHECK_FALSE(cluster::decode_edge_lag(wrong));
    }
}
