#include "log/read_partition.hpp"

#include "log/blocking_executor.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using core::Offset;
using log::Next;

namespace {

const log::TopicPartition kWhere{log::Topic::kNotifications, 0};
constexpr std::chrono::milliseconds kTimeout{5'000};

/// A partition to which one record was appended each second, from second 0 on.
struct World {
    explicit World(int records) {
        const auto publisher = log->open_publisher(executor);
        for (int i = 0; i < records; ++i, clock.advance(1s)) {
            bool done = false;
            publisher->publish(kWhere, {std::to_string(i), "", {}},
                               [&](const auto& appended) { done = appended.has_value(); });
            REQUIRE(executor.wait_until([&] { return done; }, core::SystemClock{}.mono() + 5s));
        }
    }
    std::vector<Offset> read(log::Range range, Offset stop_at = -1) {
        std::vector<Offset> seen;
        const auto sink = [&](const core::RecordView& record) {
            seen.push_back(record.offset);
            return record.offset == stop_at ? Next::stop : Next::go_on;
        };
        const auto read = log::read_range(*log, kWhere, range, sink, kTimeout);
        REQUIRE(read);
        behind = *read;
        return seen;
    }
    Offset offset_at(std::chrono::milliseconds since_start) {
        const auto found = log::offset_at(*log, kWhere, start + since_start, kTimeout);
        REQUIRE(found);
        return *found;
    }

    test::ManualClock clock;
    const core::Timestamp start = clock.wall();
    log::BlockingExecutor executor;
    std::unique_ptr<log::MemoryLog> log = log::make_memory_log({.clock = &clock});
    Offset behind = -1;
};

}  // namespace

TEST_CASE("a range is read to its end or the log's, whichever comes first") {
    World world{10};
    CHECK(world.read({3, 6}) == std::vector<Offset>{3, 4, 5});
    CHECK(world.behind == 6);
    CHECK(world.read({8}) == std::vector<Offset>{8, 9});
    CHECK(world.behind == 10);
    CHECK(world.read({12}).empty());
    CHECK(world.read({5, 5}).empty());
}

TEST_CASE("a reader of a range may stop, and goes on behind its last record") {
    World world{10};
    CHECK(world.read({2}, 4) == std::vector<Offset>{2, 3, 4});
    CHECK(world.behind == 5);
    CHECK(world.read({world.behind, 7}) == std::vector<Offset>{5, 6});
}

TEST_CASE("a range begins where the log does") {
    World world{10};
    world.log->truncate_before(kWhere, 6);
    CHECK(world.read({0, 8}) == std::vector<Offset>{6, 7});
}

TEST_CASE("a time is found in the log") {
    World world{1'000};
    CHECK(world.offset_at(0s) == 0);
    CHECK(world.offset_at(-1h) == 0);
    CHECK(world.offset_at(417s) == 417);
    CHECK(world.offset_at(416'001ms) == 417);
    CHECK(world.offset_at(999s) == 999);
    CHECK(world.offset_at(1h) == 1'000);
}

TEST_CASE("a time is found in a log with gaps") {
    World world{0};
    const auto publisher = world.log->open_publisher(world.executor);
    for (int i = 0; i < 300; ++i, world.clock.advance(1s)) {
        bool done = false;
        // One record of three stays: the keys of the others come again.
        const auto key = i % 3 == 0 ? std::to_string(i) : "again";
        publisher->publish(kWhere, {key, "", {}}, [&](const auto&) { done = true; });
        REQUIRE(world.executor.wait_until([&] { return done; }, core::SystemClock{}.mono() + 5s));
    }
    world.log->compact(kWhere, 298, false);
    for (const int second : {0, 1, 2, 3, 100, 101, 102, 297, 298, 299}) {
        CAPTURE(second);
        const auto from = world.offset_at(std::chrono::seconds{second});
        const auto first = world.read({from, 300});
        REQUIRE_FALSE(first.empty());
        CHECK(first.front() >= second);      // nothing earlier,
        CHECK(first.front() <= second + 2);  // and nothing left out: gaps have two records
    }
}

TEST_CASE("ends of several partitions are asked for at once") {
    World world{4};
    const log::TopicPartition empty{log::Topic::kNotifications, 1};
    const log::TopicPartition none{log::Topic::kNotifications, 77};
    const auto ends = log::ends_of(*world.log, {kWhere, empty, none}, kTimeout);
    REQUIRE(ends);
    CHECK(*ends == std::map<log::TopicPartition, log::Ends>{{kWhere, {0, 4}}, {empty, {0, 0}}});
    world.log->set_away(true);
    CHECK_FALSE(log::ends_of(*world.log, {kWhere, empty}, kTimeout));
}
