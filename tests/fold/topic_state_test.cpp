#include "fold/topic_state.hpp"

#include "fold/fold_world.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using fold::TopicState;

namespace {

constexpr core::Partition kTopicPartitions = 2;
constexpr auto kFollowed = log::Topic::kRetryDead;

struct TopicWorld {
    explicit TopicWorld(core::Duration longest = 4ms) : append_delay(longest) {}
    void write(const std::string& key, std::string value = "v") {
        core::Record record{.key = key, .value = std::move(value), .headers = {}};
        publisher->publish({kFollowed, core::partition_of(key, kTopicPartitions)},
                           std::move(record), [](const auto&) {});
        executor.run_for(1s);
    }
    void follow(fold::Proof proof = fold::Proof::barrier) {
        std::vector<log::TopicPartition> inputs;
        for (core::Partition p = 0; p < kTopicPartitions; ++p) inputs.push_back({kFollowed, p});
        state = std::make_unique<TopicState>(
            TopicState::Options{.inputs = inputs, .node = {"n"}, .proof = proof},
            TopicState::Context{
                .log = faulty,
                .publisher = proof == fold::Proof::barrier ? publisher.get() : nullptr,
                .executor = executor,
                .clock = clock},
            TopicState::Events{.apply =
                                   [this](const auto&, const auto& record) {
                                       if (!core::is_control_key(record.key)) {
                                           keys.emplace_back(record.key);
                                       }
                                   },
                               .cleared = [this] { keys.clear(); },
                               .caught_up = [this] { ++caught_up; },
                               .changed = [this] { ++changes; }});
        state->start();
    }

    const core::Duration append_delay;
    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log = log::make_memory_log({.seed = 1,
                                                                .partitions = kTopicPartitions,
                                                                .clock = &clock,
                                                                .append_delay_max = append_delay});
    test::FaultyLog faulty{*log};
    std::unique_ptr<log::Publisher> publisher = faulty.open_publisher(executor);
    std::unique_ptr<TopicState> state;
    std::vector<std::string> keys;
    int caught_up = 0;
    int changes = 0;
};

}  // namespace

TEST_CASE("a topic's state is complete once all partitions are read, and follows them") {
    const auto proof = GENERATE(fold::Proof::barrier, fold::Proof::end);
    TopicWorld world;
    world.write("a");
    world.write("b");
    world.follow(proof);
    CHECK_FALSE(world.state->current());
    world.executor.run_for(5s);
    CHECK(world.state->current());
    CHECK(world.caught_up == 1);
    std::sort(world.keys.begin(), world.keys.end());
    CHECK(world.keys == std::vector<std::string>{"a", "b"});
    world.write("c");
    CHECK(world.keys.back() == "c");
}

TEST_CASE("without read barriers a state publishes nothing and confirms nothing") {
    TopicWorld world;
    world.write("a");
    world.follow(fold::Proof::end);
    world.executor.run_for(30s);
    CHECK(world.log->records({kFollowed, 0}).size() + world.log->records({kFollowed, 1}).size() ==
          1);
    std::optional<core::Result<void>> answer;
    world.state->confirm("a", [&](const auto& result) { answer = result; });
    world.executor.run_for(5s);
    REQUIRE(answer);
    CHECK(answer->error().fault == core::Fault::unavailable);
}

TEST_CASE("confirm answers when the records before it are applied") {
    TopicWorld world;
    world.follow();
    world.executor.run_for(5s);
    core::Record record{.key = "late", .value = "v", .headers = {}};
    world.publisher->publish({kFollowed, core::partition_of("late", kTopicPartitions)},
                             std::move(record), [](const auto&) {});
    bool applied = false;
    world.state->confirm("late", [&](const core::Result<void>& passed) {
        applied = passed && world.keys == std::vector<std::string>{"late"};
    });
    world.executor.run_for(5s);
    CHECK(applied);
}

TEST_CASE("a reader that cannot go on is named, and replaced until one does") {
    const auto proof = GENERATE(fold::Proof::barrier, fold::Proof::end);
    TopicWorld world;
    world.follow(proof);
    world.executor.run_for(5s);
    world.faulty.every_take = core::Fault::corrupt;
    world.write("a");
    world.executor.run_for(1s);
    CHECK_FALSE(world.state->current());
    CHECK(world.state->fault().find("retry.dead") != std::string::npos);
    CHECK(world.state->fault().find("made up") != std::string::npos);
    world.executor.run_for(30s);
    CHECK(world.keys.empty());
    const auto opened = world.faulty.readers_opened;
    world.executor.run_for(60s);
    CHECK(world.faulty.readers_opened - opened <= 2 * 60 / 2);  // each partition, with pauses
    world.faulty.every_take.reset();
    world.executor.run_for(30s);
    CHECK(world.state->current());
    CHECK(world.state->fault().empty());
    CHECK(world.keys == std::vector<std::string>{"a"});
}

// A publish fails after five seconds; what has failed for five seconds is named.
TEST_CASE("a log that does not answer from the start is named") {
    TopicWorld world;
    world.log->set_away(true);
    world.follow();
    world.executor.run_for(12s);
    CHECK_FALSE(world.state->fault().empty());
    world.log->set_away(false);
    world.executor.run_for(30s);
    CHECK(world.state->current());
}

// Fails where a turn is bounded by records alone: 200 dead letters of 200 KB held up the thread of
// the API for as long as 40 MB take.
TEST_CASE("a topic's state reads large records a few in a turn, and all in the end") {
    constexpr std::size_t kRecords = 200;
    TopicWorld world{core::Duration::zero()};
    const std::string large(200'000, 'x');
    for (std::size_t i = 0; i < kRecords; ++i) world.write(std::to_string(i), large);
    world.follow();
    std::size_t most = 0;
    for (auto before = world.keys.size(); world.keys.size() < kRecords && world.executor.step();
         before = world.keys.size()) {
        most = std::max(most, world.keys.size() - before);
    }
    CHECK(world.keys.size() == kRecords);
    CHECK(most <= 2);
}
