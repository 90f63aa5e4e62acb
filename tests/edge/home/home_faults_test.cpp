#include "support/home_world.hpp"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using edge::Home;
using log::Topic;
using test::Heard;
using test::HomeWorld;

namespace {

const log::TopicPartition kSubscriptions{Topic::kSubscriptions, HomeWorld::kPartition};

}  // namespace

// A deliberate fault: without the second look at the store the client would get a new UAID, and
// only the outbox would keep that from it.
TEST_CASE("a read that fails behind the mark denies nothing", "[home]") {
    HomeWorld world;
    world.serve();
    const auto [uaid, channel] = world.subscribed();
    world.run(1s);
    world.crash();  // what was in memory is in files from here on
    world.serve("home-2");
    world.run(1s);
    world.clock.advance(10s);  // its loop stood still: it believes nothing before a mark
    world.log->hold_readers(kSubscriptions, true);
    const auto client = world.hello(uaid);
    world.run(20ms);
    CHECK(world.take(client).empty());
    world.disk.fail(test::FaultyDisk::Call::read, 1, ".sst");
    world.log->hold_readers(kSubscriptions, false);
    world.run(20ms);
    CHECK(world.disk.struck() > 0);
    CHECK(world.take(client) == Heard{"closed 1013 Unproven"});
    world.disk.heal();
    world.run(5s);
    const auto again = world.connect(uaid);
    CHECK(world.uaid(again) == uaid);
}

TEST_CASE("a home that serves again writes over what it read meanwhile", "[home][hole]") {
    HomeWorld world;
    world.serve("old");
    const auto [uaid, channel] = world.subscribed();
    world.crash();
    world.serve("new");
    const auto client = world.connect(uaid);
    const core::ChannelId second{core::random_uuid4()};
    world.register_channel(client, second);  // under epoch 2
    // A rival takes the lease and dies; a late write of the oldest home follows.
    world.publish(Topic::kSubscriptions,
                  core::encode(core::Lease{.epoch = 9, .node = "rival", .role = "edge"}));
    world.publish(Topic::kSubscriptions,
                  core::encode(core::ChannelRemoved{
                      .uaid = uaid, .channel = second, .stamp = core::WriteStamp{1, 99}}));
    world.run(10ms);
    CHECK(world.home->state() == Home::State::standby);
    for (int i = 0; i < 500 && world.home->state() != Home::State::serving; ++i) world.run(10ms);
    REQUIRE(world.home->state() == Home::State::serving);
    world.run(500ms);
    const auto key = core::to_hex(uaid) + "/" + core::to_dashed(second);
    const auto& records = world.log->records(kSubscriptions);
    const auto newest = std::find_if(records.rbegin(), records.rend(),
                                     [&](const auto& stored) { return stored.record.key == key; });
    REQUIRE(newest != records.rend());
    CHECK(newest->record.value);
}
