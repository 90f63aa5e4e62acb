#include "cluster/partition_lease.hpp"

#include "records/events.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/test_executor.hpp"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using beckon::cluster::PartitionLease;
using beckon::core::Error;
using beckon::core::Lease;
using beckon::log::Topic;
using beckon::log::TopicPartition;
using State = PartitionLease::State;

namespace {

constexpr beckon::core::Partition kPartition = 2;

struct World {
    beckon::test::ManualClock clock;
    beckon::test::SimExecutor executor{clock};
    std::unique_ptr<beckon::log::MemoryLog> log = beckon::log::make_memory_log(
        {.seed = 7, .partitions = 4, .clock = &clock, .append_delay_max = 10ms});

    std::vector<std::string> keys(Topic topic) const {
        std::vector<std::string> out;
        const auto p = topic == Topic::kOwnership ? 0 : kPartition;
        for (const auto& stored : log->records({topic, p})) {
            out.push_back(stored.record.key + (stored.record.value ? "" : " gone"));
        }
        return out;
    }
};

/// A node that follows the partition and may claim it.
struct Node {
    Node(World& w, std::string name)
        : world(w),
          publisher(w.log->open_publisher(w.executor)),
          lease(kPartition, {std::move(name)}, "edge", *publisher,
                {.serving =
                     [this](auto epoch) { notices.push_back("serving " + std::to_string(epoch)); },
                 .lost =
                     [this](const Error& e) {
                         notices.push_back("lost " + std::string{to_string(e.fault)});
                     }}),
          subscriptions(reader(Topic::kSubscriptions)),
          notifications(reader(Topic::kNotifications)) {}

    std::unique_ptr<beckon::log::PartitionReader> reader(Topic topic) {
        return world.log->open_reader({topic, kPartition}, 0, world.executor,
                                      [this, topic] { read(topic); });
    }
    void read(Topic topic) {
        auto& from = topic == Topic::kSubscriptions ? subscriptions : notifications;
        beckon::core::DecodeScratch scratch;
        static_cast<void>(from->take(1000, [&](const auto& record) {
            const auto feed = [&](const auto& event) {
                if constexpr (std::is_same_v<std::decay_t<decltype(event)>, Lease>) {
                    lease.read(topic, event);
                }
            };
            if (topic == Topic::kSubscriptions) {
                std::visit(feed, beckon::core::decode_subscription(record, scratch));
            } else {
                std::visit(feed, beckon::core::decode_notification(record, scratch));
            }
        }));
    }

    World& world;
    std::unique_ptr<beckon::log::Publisher> publisher;
    std::vector<std::string> notices;
    PartitionLease lease;
    std::unique_ptr<beckon::log::PartitionReader> subscriptions;
    std::unique_ptr<beckon::log::PartitionReader> notifications;
};

using Log = std::vector<std::string>;

}  // namespace

TEST_CASE("a lone candidate serves when it has read both of its leases") {
    World world;
    Node a{world, "a"};
    a.lease.claim(0);
    CHECK(a.lease.state() == State::claiming);
    world.executor.run_for(1s);
    CHECK(a.notices == Log{"serving 1"});
    CHECK(a.lease.state() == State::serving);
    CHECK(world.keys(Topic::kOwnership) == Log{"edge/epoch/2"});
    CHECK(world.keys(Topic::kSubscriptions) == Log{"!lease/00000000000000000001/a"});
    CHECK(world.keys(Topic::kNotifications) == Log{"!lease/00000000000000000001/a"});
}

TEST_CASE("of two that claim one epoch, the first in the log wins on both nodes") {
    World world;
    Node a{world, "a"};
    Node b{world, "b"};
    a.lease.claim(0);
    b.lease.claim(0);
    world.executor.run_for(1s);
    const auto first = world.keys(Topic::kSubscriptions).front();
    auto& winner = first.ends_with("/a") ? a : b;
    auto& loser = first.ends_with("/a") ? b : a;
    CHECK(winner.notices == Log{"serving 1"});
    CHECK(loser.notices == Log{"lost conflict"});
    CHECK(world.keys(Topic::kNotifications).size() == 1);  // only the winner's
}

TEST_CASE("a home that reads a higher epoch stops, and the winner clears the lower lease") {
    World world;
    Node a{world, "a"};
    a.lease.claim(0);
    world.executor.run_for(1s);
    Node b{world, "b"};
    world.executor.run_for(1s);
    b.lease.claim(0);  // knows epoch 1 from the log alone
    world.executor.run_for(1s);
    CHECK(a.notices == Log{"serving 1", "lost conflict"});
    CHECK(b.notices == Log{"serving 2"});
    CHECK(world.keys(Topic::kSubscriptions) == Log{"!lease/00000000000000000001/a",
                                                   "!lease/00000000000000000002/b",
                                                   "!lease/00000000000000000001/a gone"});
    CHECK(world.keys(Topic::kNotifications) == Log{"!lease/00000000000000000001/a",
                                                   "!lease/00000000000000000002/b",
                                                   "!lease/00000000000000000001/a gone"});
}

TEST_CASE("a claim stands above the floor that ownership shows") {
    World world;
    Node a{world, "a"};
    a.lease.claim(41);
    world.executor.run_for(1s);
    CHECK(a.notices == Log{"serving 42"});
}

TEST_CASE("no lease is published before its epoch stands in ownership") {
    World world;
    Node a{world, "a"};
    world.log->fail_next_publishes(1);
    a.lease.claim(0);
    world.executor.run_for(1s);
    CHECK(a.notices == Log{"lost unavailable"});
    CHECK(world.keys(Topic::kSubscriptions).empty());
}

TEST_CASE("a claim whose answer was lost is given up, and the next has a higher epoch") {
    World world;
    Node a{world, "a"};
    a.lease.claim(0);
    while (world.keys(Topic::kOwnership).empty()) world.executor.run_for(1ms);
    world.log->lose_next_answers(1);  // of the lease in subscriptions
    world.executor.run_for(1s);
    CHECK(a.notices.back() == "lost unavailable");
    CHECK(a.lease.state() == State::following);
    a.lease.claim(0);
    world.executor.run_for(1s);
    CHECK(a.notices.back() == "serving 2");
}

TEST_CASE("another role's leases are none of ours") {
    World world;
    Node a{world, "a"};
    a.lease.claim(0);
    world.executor.run_for(1s);
    a.publisher->publish({Topic::kSubscriptions, kPartition},
                         beckon::core::encode(Lease{.epoch = 9, .node = "r", .role = "retry"}),
                         [](const auto&) {});
    world.executor.run_for(1s);
    CHECK(a.lease.state() == State::serving);
}

TEST_CASE("a released lease is silent") {
    World world;
    Node a{world, "a"};
    a.lease.claim(0);
    a.lease.release();
    world.executor.run_for(1s);
    CHECK(a.notices.empty());
    CHECK(a.lease.state() == State::following);
}
