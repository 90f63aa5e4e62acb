// What edges that are behind do to POSTs (endpoint.edge_lag_max).
#include "records/edge_lag.hpp"

#include "ingest/ingest_world.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using namespace std::chrono_literals;
using cluster::EdgeLagRecord;

namespace {

struct LagWorld : IngestWorld {
    explicit LagWorld(std::chrono::milliseconds most, std::size_t publish_bytes_max = 1U << 20)
        : IngestWorld({.publish_bytes_max = publish_bytes_max,
                       .bridged_delivery = true,
                       .edge_lag_max = most}) {
        run_loops(1s);
    }
    void says(const std::string& node, std::optional<std::chrono::milliseconds> lag) {
        publish({log::Topic::kOwnership, 0}, encode(EdgeLagRecord{.node = {node}, .lag = lag}));
        run_loops();
    }
    /// An edge says so ten times a second.
    void says_for(std::chrono::milliseconds time, std::chrono::milliseconds lag) {
        for (auto passed = 0ms; passed < time; passed += EdgeLagRecord::kEvery) {
            says("a", lag);
            run_loops(EdgeLagRecord::kEvery);
        }
    }
    /// The status of a POST, and how long it took.
    std::pair<int, std::chrono::milliseconds> post() {
        const auto before = clock_.mono();
        const auto exchange = begin(IngestWorld::post_data(to.path));
        while (!exchange->answer && clock_.mono() - before < 10s) run_loops(1ms);
        REQUIRE(exchange->answer);
        return {exchange->answer->status,
                std::chrono::duration_cast<std::chrono::milliseconds>(clock_.mono() - before)};
    }

    const Target to = subscribed();
};

}  // namespace

TEST_CASE("POSTs wait while an edge is behind, and are refused while it is far behind", "[send]") {
    LagWorld world{1s};
    CHECK(world.post().first == 201);
    world.says_for(5s, 900ms);
    CHECK(world.post().second < 100ms);
    world.says_for(300ms, 1'900ms);
    CHECK(world.post().first == 201);
    world.says_for(2s, 1'900ms);
    const auto [status, took] = world.post();
    CHECK(status == 201);
    CHECK(took > 300ms);
    world.says_for(3s, 1'900ms);
    CHECK(world.edge_lag_->verdict().delay == ingest::EdgeLag::kDelayMax);
    world.says("a", 2'000ms);
    CHECK(world.post().first == 503);
    const auto refused = world.ask(IngestWorld::post_data(world.to.path));
    CHECK(refused.status == 503);
    CHECK(std::any_of(refused.headers.begin(), refused.headers.end(), [](const auto& header) {
        return header.name == "Retry-After" && header.value == "10";
    }));
    world.says_for(2s, 500ms);
    CHECK(world.edge_lag_->verdict().delay < ingest::EdgeLag::kDelayMax / 2);
    CHECK(world.edge_lag_->verdict().delay > 0ms);
    world.says("a", std::nullopt);
    world.run_loops(2s);
    CHECK(world.post().second < 100ms);
}

TEST_CASE("the edge that is furthest behind counts", "[send]") {
    LagWorld world{1s};
    world.says("a", 900ms);
    world.says("b", 1'400ms);
    CHECK(world.edge_lag_->lag() == 1'400ms);
    world.says("b", std::nullopt);
    CHECK(world.edge_lag_->lag() == 900ms);
}

TEST_CASE("a moment's lag far below the setting delays no POST", "[send]") {
    LagWorld world{5s};
    for (int i = 0; i < 20; ++i) {
        world.says("a", i % 5 == 2 ? 400ms : 0ms);
        world.run_loops(100ms);
        CHECK(world.edge_lag_->verdict().delay == 0ms);
    }
}

// With a fixed delay for each lag senders that wait for their answers swing between too many and
// too few.
TEST_CASE("POSTs are delayed until senders send what the edges deliver", "[send]") {
    const int senders = GENERATE(8, 64, 1'000);
    const std::size_t late_reports = GENERATE(0U, 1U);  // by so many tenths of a second
    constexpr auto kMost = 400ms;
    constexpr double kDelivered = 5'000;  // a second
    constexpr double kAnswerS = 0.002;    // without a delay
    LagWorld world{kMost};
    double waiting = 0;
    std::vector<double> lags;
    for (std::size_t tenth = 0; tenth < 600; ++tenth) {
        const auto verdict = world.edge_lag_->verdict();
        const std::chrono::duration<double> delay = verdict.delay;
        const double able = std::min(20'000.0, senders / (kAnswerS + delay.count()));
        const double sent = verdict.refuse ? 0 : able;
        waiting = std::max(0.0, waiting + (sent - kDelivered) / 10);
        lags.push_back(1'000 * waiting / kDelivered);
        const auto seen = tenth < late_reports ? 0 : lags[tenth - late_reports];
        const std::chrono::milliseconds lag{std::llround(seen)};
        world.says("a", lag >= EdgeLagRecord::kLeast ? std::optional{lag} : std::nullopt);
        world.run_loops(100ms);
    }
    const std::vector<double> late(lags.begin() + 300, lags.end());
    CAPTURE(senders, late_reports, late);
    if (senders / kAnswerS < kDelivered) {
        CHECK(*std::max_element(late.begin(), late.end()) == 0);
    } else {
        CHECK(*std::max_element(late.begin(), late.end()) < 700);
        CHECK(*std::min_element(late.begin(), late.end()) > 0);  // nor too slowly
    }
}

TEST_CASE("an edge that has died holds up nothing, nor one that was behind before the start",
          "[send]") {
    LagWorld world{1s};
    world.says_for(3s, 5s);
    CHECK(world.post().first == 503);
    world.run_loops(EdgeLagRecord::kCountsFor + 1s);
    CHECK(world.post().first == 201);

    world.says("a", 5s);
    const ingest::EdgeLag later{1s, *world.log_, world.executor_, world.clock_};
    world.run_loops(1s);
    CHECK(later.lag() == 0ms);
    CHECK_FALSE(later.verdict().refuse);
}

TEST_CASE("what an edge said long ago holds up nothing when the endpoint reads it", "[send]") {
    LagWorld world{1s};
    const log::TopicPartition ownership{log::Topic::kOwnership, 0};
    world.says("b", 0ms);  // shows the log's time
    world.log_->hold_readers(ownership, true);
    world.says("a", 5s);
    world.run_loops(10s);
    world.log_->hold_readers(ownership, false);
    world.run_loops(100ms);
    CHECK(world.edge_lag_->lag() == 0ms);
    CHECK(world.post().first == 201);
    world.says_for(3s, 5s);
    CHECK(world.post().first == 503);
}

TEST_CASE("an edge's lag counts again some time after the log's clock stepped back", "[send]") {
    std::chrono::milliseconds back{0};
    ManualClock clock;
    SimExecutor executor{clock};
    const auto log = log::make_memory_log(
        {.seed = 1, .clock = &clock, .stamp = [&](const auto&) { return clock.wall() - back; }});
    const auto publisher = log->open_publisher(executor);
    const ingest::EdgeLag lag{1s, *log, executor, clock};
    const auto says = [&](std::chrono::milliseconds now) {
        publisher->publish({log::Topic::kOwnership, 0},
                           encode(EdgeLagRecord{.node = {"a"}, .lag = now}), [](const auto&) {});
        executor.run_for(500ms);
    };
    executor.run_for(1s);
    for (int i = 0; i < 8; ++i) says(5s);
    CHECK(lag.verdict().refuse);
    back = 10s;
    says(5s);
    CHECK_FALSE(lag.verdict().refuse);
    for (int i = 0; i < 200; ++i) says(5s);
    CHECK(lag.verdict().refuse);
}

TEST_CASE("of edges that are behind a bounded number is remembered", "[send]") {
    LagWorld world{1s};
    for (std::size_t i = 0; i < ingest::EdgeLag::kEdgesMax; ++i) {
        world.publish({log::Topic::kOwnership, 0},
                      encode(EdgeLagRecord{.node = {std::to_string(i)}, .lag = 300ms}));
    }
    world.run_loops();
    world.says("one more", 5s);
    CHECK(world.edge_lag_->lag() == 300ms);
    world.says("7", 2s);
    CHECK(world.edge_lag_->lag() == 2s);
    world.says("7", std::nullopt);
    world.says("one more", 5s);
    CHECK(world.edge_lag_->lag() == 5s);
}

TEST_CASE("a message for a bridge waits for no edge", "[send]") {
    LagWorld world{1s};
    const auto target = world.new_target();
    world.subscribe(target.uaid, core::ChannelId{core::random_uuid4()}, core::RouterType::fcm);
    world.says_for(3s, 5s);
    CHECK(world.post().first == 503);
    CHECK(world.ask(IngestWorld::post_data(target.path)).status == 201);
}

TEST_CASE("POSTs that wait for an edge have a bound in bytes", "[send]") {
    LagWorld world{1s, 4'096};
    world.says_for(5s, 1'900ms);
    const auto body = std::string(3'000, 'x');
    const auto first = world.begin(IngestWorld::post_data(world.to.path).with_body(body));
    const auto refused = world.ask(IngestWorld::post_data(world.to.path).with_body(body));
    CHECK(refused.status == 503);
    CHECK_FALSE(first->answer);
    world.run_loops(1s);
    REQUIRE(first->answer);
    CHECK(first->answer->status == 201);
}

TEST_CASE("without edge_lag_max no edge holds up a POST", "[send]") {
    LagWorld world{0ms};
    world.says("a", 1h);
    CHECK(world.post().first == 201);
    CHECK(world.post().second < 100ms);
}

TEST_CASE("the lag of an edge reads back as it was written", "[records]") {
    for (const auto lag : {std::optional{1'234ms}, std::optional<std::chrono::milliseconds>{}}) {
        const EdgeLagRecord record{.node = {"n1"}, .lag = lag};
        const auto encoded = encode(record);
        core::RecordView view;
        view.key = encoded.key;
        if (encoded.value) view.value = *encoded.value;
        CHECK(cluster::decode_edge_lag(view) == record);
    }
    core::RecordView wrong;
    wrong.key = "lag/n1";
    for (const auto* value : {"", "7", "{}", R"({"lag_ms":"x"})", R"({"lag_ms":null})"}) {
        CAPTURE(value);
        wrong.value = value;
        CHECK_FALSE(cluster::decode_edge_lag(wrong));
    }
}
