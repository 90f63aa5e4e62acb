#include "support/memory_log.hpp"

#include "log/contract_support.hpp"
#include "support/manual_clock.hpp"
#include "support/test_executor.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using log::Topic;
using log::TopicPartition;
using std::chrono::milliseconds;

namespace {

const TopicPartition kWhere{Topic::kSubscriptions, 0};

struct World {
    explicit World(std::uint64_t seed = 0, core::Duration delay = {})
        : log(log::make_memory_log(
              {.seed = seed, .clock = &clock, .append_delay_max = delay, .read_delay_max = delay})),
          publisher(log->open_publisher(executor)) {}

    void publish(const std::string& key) {
        publisher->publish(kWhere, record(key), [this, key](const auto& result) {
            answers.push_back(key + (result ? " ok" : " failed"));
        });
    }
    std::vector<std::string> stored() const {
        std::vector<std::string> keys;
        for (const auto& s : log->records(kWhere)) keys.push_back(s.record.key);
        return keys;
    }

    ManualClock clock;
    SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log;
    std::unique_ptr<log::Publisher> publisher;
    std::vector<std::string> answers;
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a failed publish is not in the log, one with a lost answer is") {
    World world;
    world.log->fail_next_publishes(1);
    world.publish("failed");
    world.log->lose_next_answers(1);
    world.publish("lost");
    world.publish("fine");
    world.executor.run();
    CHECK(world.answers == Lines{"failed failed", "lost failed", "fine ok"});
    CHECK(world.stored() == Lines{"lost", "fine"});
}

TEST_CASE("held readers see nothing new until they are released") {
    World world;
    std::vector<std::string> seen;
    std::unique_ptr<log::PartitionReader> reader;
    reader = world.log->open_reader(kWhere, 0, world.executor, [&] {
        REQUIRE(reader->take(10, [&](const auto& view) { seen.emplace_back(view.key); }));
    });
    world.publish("before");
    world.executor.run();
    world.log->hold_readers(kWhere, true);
    world.publish("held");
    world.executor.run();
    CHECK(world.answers.size() == 2);
    CHECK(seen == Lines{"before"});
    world.log->hold_readers(kWhere, false);
    world.executor.run();
    CHECK(seen == Lines{"before", "held"});
}

TEST_CASE("a crash between append and answer leaves the record in the log") {
    bool in_log_without_answer = false;
    bool neither = false;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        World world{seed, milliseconds{10}};
        world.publish("key");
        world.executor.run_for(milliseconds{3});
        world.publisher.reset();
        world.executor.forget_all();
        in_log_without_answer |= world.answers.empty() && !world.stored().empty();
        neither |= world.answers.empty() && world.stored().empty();
    }
    CHECK(in_log_without_answer);
    CHECK(neither);
}

TEST_CASE("the same seed gives the same run, another seed another") {
    const auto run = [](std::uint64_t seed) {
        World world{seed, milliseconds{10}};
        std::vector<core::Duration> answered_at;
        for (int i = 0; i < 20; ++i) {
            world.publisher->publish(kWhere, record("key"), [&](const auto&) {
                answered_at.push_back(world.clock.mono().time_since_epoch());
            });
            world.executor.run_for(milliseconds{1});
        }
        world.executor.run_for(milliseconds{100});
        return answered_at;
    };
    CHECK(run(7) == run(7));
    CHECK(run(7) != run(8));
}
