#include "log/groups.hpp"

#include "core/clock.hpp"
#include "log/blocking_executor.hpp"
#include "log/kafka/assignment.hpp"
#include "support/memory_log.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::log;
using namespace std::chrono_literals;

namespace {

std::string number(std::uint32_t value, int bytes) {
    std::string out;
    for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
    return out;
}

std::string text(const std::string& value) {
    return number(static_cast<std::uint32_t>(value.size()), 2) + value;
}

/// As a Java client of Kafka writes it: version, topics, user data.
std::string assignment() {
    return number(1, 2) + number(2, 4) + text("orders") + number(2, 4) + number(0, 4) +
           number(7, 4) + text("mail") + number(1, 4) + number(300, 4) + number(0xFFFFFFFF, 4);
}

constexpr TopicPartition kWhere{Topic::kNotifications, 1};

/// A log with some records, and a group that has read some of them.
class Read {
public:
    Read() : log({.clock = &clock}), publisher(log.open_publisher(executor)) {}

    void publish(int records) {
        int missing = records;
        for (int i = 0; i < records; ++i) {
            publisher->publish(kWhere, {"k" + std::to_string(i), "v", {}},
                               [&](const auto&) { --missing; });
        }
        executor.wait_until([&] { return missing == 0; }, clock.mono() + 10s);
    }
    void commit(core::Offset offset) {
        bool done = false;
        log.commit("edge", {{kWhere, offset}}, executor, [&](const auto&) { done = true; });
        executor.wait_until([&] { return done; }, clock.mono() + 10s);
    }

    core::SystemClock clock;
    BlockingExecutor executor;
    MemoryLog log;
    std::unique_ptr<Publisher> publisher;
};

}  // namespace

TEST_CASE("the partitions of a member stand in its assignment") {
    const auto found = kafka::parse_assignment(assignment());
    REQUIRE(found);
    CHECK(*found == std::vector<NamedPartition>{{"orders", 0}, {"orders", 7}, {"mail", 300}});
    CHECK(kafka::parse_assignment("")->empty());
}

TEST_CASE("an assignment that is cut anywhere is none, and lengths are not believed") {
    const auto whole = assignment();
    for (std::size_t size = 1; size < whole.size() - 4; ++size) {  // user data is not read
        CHECK_FALSE(kafka::parse_assignment(whole.substr(0, size)));
    }
    CHECK_FALSE(kafka::parse_assignment(number(1, 2) + number(0x7FFFFFFF, 4) + "x"));
    CHECK_FALSE(kafka::parse_assignment(number(1, 2) + number(0xFFFFFFFF, 4)));
}

TEST_CASE("a group of ours is listed with its position, its ends and its owner") {
    Read world;
    world.publish(5);
    world.commit(2);
    const auto groups =
        open_own_groups(world.log, {{"edge", {kWhere, {Topic::kNotifications, 0}}, "this process"}},
                        {{"notifications", 1h}});
    const auto found = groups->poll({});
    REQUIRE(found);
    REQUIRE(found->positions.size() == 1);  // the other partition has no position
    CHECK(found->positions[0] == GroupPosition{.group = "edge",
                                               .where = {"notifications", 1},
                                               .position = 2,
                                               .ends = {0, 5},
                                               .owner = "this process"});
    CHECK(found->retention.at("notifications") == 1h);
}

TEST_CASE("the append time of a record is looked up, and there may be none") {
    Read world;
    const auto before = world.clock.wall();
    world.publish(3);
    const auto groups = open_own_groups(world.log, {}, {});
    const auto time = groups->append_time({"notifications", 1}, 1, {});
    REQUIRE(time);
    REQUIRE(*time);
    CHECK(**time >= before);
    CHECK(**time <= world.clock.wall());
    const auto none = groups->append_time({"notifications", 1}, 3, {});
    REQUIRE(none);
    CHECK(*none == std::nullopt);
    CHECK_FALSE(groups->append_time({"no-such-topic", 0}, 0, {}));
}
