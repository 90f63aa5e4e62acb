#include "reliability/milestone_texts.hpp"
#include "reliability/random_lives.hpp"
#include "reliability/tracking/milestone_queue.hpp"
#include "reliability/tracking/tracking.hpp"
#include "support/memory_log.hpp"
#include "support/record_view.hpp"
#include "support/test_executor.hpp"

#include <map>
#include <thread>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace reliability;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::at_ms;

namespace {

constexpr core::Partition kPartitions = 4;
const Timestamp kExpires = at_ms(1'790'000'900'000);

/// A queue with its writer over a log in memory.
struct World {
    explicit World(std::size_t messages_max = 64'000, std::size_t waiting_max = 10'000)
        : log(log::make_memory_log(
              {.seed = 1, .partitions = kPartitions, .clock = &clock, .waiting_max = waiting_max})),
          queue({.source = "0123456789abcdef", .messages_max = messages_max}, clock,
                [this] { writer.wake(); }) {}

    std::vector<MilestonesReached> written() const {
        std::vector<MilestonesReached> events;
        for (core::Partition p = 0; p < kPartitions; ++p) {
            for (const auto& stored : log->records({log::Topic::kReliability, p})) {
                CHECK(core::partition_of(stored.record.key, kPartitions) == p);
                const test::ReadBack back{stored.record, stored.offset, stored.time};
                REQUIRE(decode(*back, events.emplace_back()));
            }
        }
        return events;
    }

    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log;
    MilestoneQueue queue;
    MilestoneWriter writer{queue, kPartitions, *log, executor};
};

}  // namespace

TEST_CASE("a thousand messages wait for no others") {
    World world;
    const auto reach = [&](std::size_t from, std::size_t to) {
        for (auto i = from; i < to; ++i) {
            world.queue.reached(std::to_string(i), kExpires, Milestone::received);
        }
        world.executor.run_for(milliseconds{10});
    };
    constexpr auto kFullBatch = MilestoneQueue::kFullBatch;
    reach(0, kFullBatch - 1);
    CHECK(world.written().empty());
    reach(kFullBatch - 1, kFullBatch);
    CHECK(world.written().size() == kFullBatch);
    CHECK(world.queue.size() == 0);
    reach(0, kFullBatch);  // and again
    CHECK(world.written().size() == 2 * kFullBatch);
}

TEST_CASE("milestones that a message reaches within a moment are one record") {
    World world;
    const auto now = world.clock.wall();
    world.queue.reached("a", kExpires, Milestone::received);
    world.queue.reached("a", kExpires, Milestone::stored);
    world.queue.reached("a", kExpires, Milestone::received);  // reported twice
    world.queue.reached("b", kExpires, Milestone::received);
    CHECK(world.written().empty());
    world.executor.run_for(MilestoneWriter::kLinger);
    std::map<std::string, std::vector<Reached>> written;
    for (auto& event : world.written()) {
        CHECK(event.expires == kExpires);
        CHECK(event.source == "0123456789abcdef");
        written.emplace(event.id, event.reached);
    }
    CHECK(written == std::map<std::string, std::vector<Reached>>{
                         {"a", {{Milestone::received, now}, {Milestone::stored, now}}},
                         {"b", {{Milestone::received, now}}}});
    CHECK(world.queue.dropped() == 0);
}

TEST_CASE("a later milestone is a record of its own") {
    World world;
    world.queue.reached("a", kExpires, Milestone::received);
    world.executor.run_for(seconds{1});
    world.queue.reached("a", kExpires, Milestone::stored);
    world.executor.run_for(seconds{1});
    CHECK(world.written().size() == 2);
}

TEST_CASE("a full queue drops milestones and counts them") {
    World world{MilestoneQueue::kParts * 2};
    for (int i = 0; i < 1'000; ++i) {
        world.queue.reached(std::to_string(i), kExpires, Milestone::received);
    }
    CHECK(world.queue.dropped() == 1'000 - MilestoneQueue::kParts * 2);
    CHECK(world.queue.size() == MilestoneQueue::kParts * 2);
    world.executor.run_for(seconds{1});
    CHECK(world.written().size() == MilestoneQueue::kParts * 2);
    world.queue.reached("later", kExpires, Milestone::received);
    world.executor.run_for(seconds{1});
    CHECK(world.written().size() == MilestoneQueue::kParts * 2 + 1);
}

TEST_CASE("a milestone without a valid reliability id is dropped") {
    World world;
    world.queue.reached("!barrier/x", kExpires, Milestone::received);
    world.queue.reached("", kExpires, Milestone::received);
    CHECK(world.queue.dropped() == 2);
    CHECK(world.queue.size() == 0);
}

TEST_CASE("while the log is away milestones wait, and are written when it is back") {
    World world;
    world.log->set_away(true);
    world.queue.reached("a", kExpires, Milestone::received);
    world.executor.run_for(seconds{30});
    CHECK(world.written().empty());
    world.queue.reached("a", kExpires, Milestone::stored);
    world.log->set_away(false);
    world.executor.run_for(seconds{10});
    std::size_t milestones = 0;
    for (const auto& event : world.written()) milestones += event.reached.size();
    CHECK(milestones == 2);
    CHECK(world.queue.dropped() == 0);
}

TEST_CASE("a lost answer costs a repetition, not a milestone") {
    World world;
    world.log->lose_next_answers(1);
    world.queue.reached("a", kExpires, Milestone::received);
    world.executor.run_for(seconds{10});
    const auto written = world.written();
    REQUIRE(written.size() == 2);
    CHECK(written[0] == written[1]);
}

TEST_CASE("a publisher that takes few at a time gets all in the end") {
    World world{64'000, 100};
    for (int i = 0; i < 500; ++i) {
        world.queue.reached(std::to_string(i), kExpires, Milestone::received);
    }
    world.executor.run_for(seconds{120});
    std::map<std::string, int> written;
    for (const auto& event : world.written()) ++written[event.id];
    CHECK(written.size() == 500);
    CHECK(world.queue.dropped() == 0);
}

TEST_CASE("milestones under way are bounded, and all are written in the end") {
    World world;
    constexpr std::size_t kTooMany = 1'000;
    constexpr std::size_t kReported = MilestoneWriter::kUnderWayMax + kTooMany;
    for (int round = 1; round <= 2; ++round) {  // the second finds as much space as the first
        world.log->set_away(true);
        for (std::size_t i = 0; i < kReported; ++i) {
            world.queue.reached(std::to_string(i), kExpires, Milestone::received);
        }
        world.executor.run_for(MilestoneWriter::kLinger);
        CHECK(world.queue.size() == kTooMany);
        bool flushed = false;
        world.writer.flush([&] { flushed = true; });
        world.executor.run_for(seconds{30});
        CHECK(world.queue.size() >= kTooMany);  // what failed is there again
        CHECK(world.queue.size() <= kReported);
        CHECK_FALSE(flushed);
        world.log->set_away(false);
        world.executor.run_for(seconds{30});
        CHECK(flushed);
        CHECK(world.queue.size() == 0);
        CHECK(world.queue.dropped() == 0);
        std::map<std::string, int> written;
        for (const auto& event : world.written()) ++written[event.id];
        CHECK(written.size() == kReported);
        for (const auto& [id, times] : written) REQUIRE(times >= round);
    }
}

TEST_CASE("a flush answers when all is written") {
    World world;
    world.queue.reached("a", kExpires, Milestone::received);
    bool done = false;
    world.writer.flush([&] { done = true; });
    world.executor.run();
    CHECK(done);
    CHECK(world.written().size() == 1);
    done = false;
    world.writer.flush([&] { done = true; });
    world.executor.run();
    CHECK(done);
}

TEST_CASE("threads that report at once lose nothing") {
    test::ManualClock clock;
    std::atomic<int> woken = 0;
    MilestoneQueue queue{{.source = "n"}, clock, [&] { ++woken; }};
    constexpr int kThreads = 4;
    constexpr int kEach = 2'000;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < kThreads; ++t) {
            threads.emplace_back([&queue, t] {
                for (int i = 0; i < kEach; ++i) {
                    queue.reached(std::to_string(t) + "-" + std::to_string(i), kExpires,
                                  Milestone::received);
                }
            });
        }
    }
    CHECK(woken == 2);  // for the first, and when so many were there that they wait for no others
    CHECK(queue.recorded() == kThreads * kEach);
    CHECK(queue.take(100'000).size() == kThreads * kEach);
    CHECK(queue.dropped() == 0);
}

TEST_CASE("a caller is notified when its milestone is in the log, or was tried") {
    World world;
    int done = 0;
    const auto report = [&](const std::string& id) {
        world.queue.reached_then(id, kExpires, Milestone::delivered, [&] { ++done; });
    };
    report("a");
    report("a");  // twice: both are notified
    CHECK(done == 0);
    world.executor.run_for(seconds{1});
    CHECK(done == 2);
    CHECK(world.written().size() == 1);

    world.log->set_away(true);
    report("b");
    world.executor.run_for(seconds{60});
    CHECK(done == 3);  // a log that is away holds nobody up
    world.log->set_away(false);
    world.executor.run_for(seconds{60});
    CHECK(done == 3);  // and nobody is notified twice
    CHECK(world.written().size() == 2);
}

TEST_CASE("a caller is notified at once when its milestone is dropped") {
    World world{MilestoneQueue::kParts};
    int done = 0;
    const auto report = [&](const std::string& id) {
        world.queue.reached_then(id, kExpires, Milestone::delivered, [&] { ++done; });
    };
    report("!no id");
    CHECK(done == 1);
    for (int i = 0; i < 1'000; ++i) report(std::to_string(i));
    CHECK(done > 1);
    CHECK(done - 1 + static_cast<int>(world.queue.size()) == 1'000);
}
