#include "core/client_code.hpp"
#include "edge/home/check_bounds.hpp"
#include "edge/home/home.hpp"
#include "edge/protocol/frames.hpp"
#include "support/home_world.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using log::Topic;
using test::HomeWorld;
using test::Received;
using test::ServingHome;
using Versions = std::vector<std::string>;
using Push = HomeWorld::Push;

namespace {

const log::TopicPartition kNotifications{Topic::kNotifications, 0};

}  // namespace

TEST_CASE("a message for an attached client is sent at once, and an ack erases it") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    world.take(client);
    const auto version = world.push(uaid, channel, Push{.body = "\x01\x02"});
    world.run();
    CHECK(world.take(client) == Received{R"({"messageType":"notification","channelID":")" +
                                         core::to_dashed(channel) + R"(","version":")" + version +
                                         R"(","data":"AQI","headers":{"encoding":"aes128gcm"}})"});
    world.ack(client, version);
    world.run();
    CHECK(world.reasons() == Received{"acked"});
    CHECK(world.home->status().pending_tombstones == 0);
    CHECK(world.take_versions(world.connect(uaid)).empty());
}

TEST_CASE("a message waits for its client through a crash and the loss of the store") {
    const bool lose_store = GENERATE(false, true);
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto version = world.push(uaid, channel);
    world.run();
    world.crash();
    if (lose_store) world.lose_store();
    world.serve("home-2");
    CHECK(world.take_versions(world.connect(uaid)) == Versions{version});
}

TEST_CASE(
    "an unacknowledged message comes again with the same version, an acknowledged one does not") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    const auto first = world.push(uaid, channel);
    const auto second = world.push(uaid, channel);
    const auto third = world.push(uaid, channel);
    world.run();
    CHECK(world.take_versions(client) == Versions{first, second, third});
    world.ack(client, second, 102);  // out of order; every code is final
    world.run();
    CHECK(world.take_versions(world.connect(uaid)) == Versions{first, third});
}

TEST_CASE("at most a window of messages is under way, and acks make space") {
    ServingHome world{{.delivery_window = 3}};
    const auto [uaid, channel] = world.subscribed();
    const bool attached_before = GENERATE(true, false);
    std::uint64_t client = 0;
    if (attached_before) client = world.connect(uaid);
    Versions sent;
    for (int i = 0; i < 8; ++i) sent.push_back(world.push(uaid, channel));
    world.run();
    if (!attached_before) client = world.connect(uaid);
    Versions got = world.take_versions(client);
    CHECK(got == Versions(sent.begin(), sent.begin() + 3));
    while (!got.empty()) {
        const auto next = got.front();
        got.erase(got.begin());
        CHECK(next == sent.front());
        sent.erase(sent.begin());
        world.ack(client, next);
        world.run();
        for (auto& version : world.take_versions(client)) got.push_back(version);
        CHECK(got.size() <= 3);
    }
    CHECK(sent.empty());
    const auto live = world.push(uaid, channel);  // drained: a new message is sent at once
    world.run();
    CHECK(world.take_versions(client) == Versions{live});
}

TEST_CASE("a message unacknowledged for a minute gives its place free, up to a hard cap") {
    ServingHome world{{.delivery_window = 2}};
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    for (int i = 0; i < 40; ++i) world.push(uaid, channel);
    world.run();
    CHECK(world.take_versions(client).size() == 2);
    world.run(50s);
    CHECK(world.take_versions(client).empty());
    world.run(12s);
    CHECK(world.take_versions(client).size() == 2);
    world.run(1h);
    CHECK(world.take_versions(client).size() == 16);  // 20 in all: ten windows
}

TEST_CASE("a nack frees its place, and the message comes again at the next hello") {
    ServingHome world{{.delivery_window = 1}};
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    const auto first = world.push(uaid, channel);
    const auto second = world.push(uaid, channel);
    world.run();
    CHECK(world.take_versions(client) == Versions{first});
    world.send_frame(client, R"({"messageType":"nack","version":")" + first + R"(","code":301})");
    world.run();
    CHECK(world.take_versions(client) == Versions{second});
    CHECK(world.reasons().empty());
    const auto again = world.connect(uaid);
    CHECK(world.take_versions(again) == Versions{first});
}

TEST_CASE("a TTL-0 message is sent now or never, and its tombstone is written either way") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    world.run(10s);
    world.push(uaid, channel, Push{.ttl_s = 0});
    world.run();
    const auto client = world.connect(uaid);
    CHECK(world.take_versions(client).empty());
    const auto version = world.push(uaid, channel, Push{.ttl_s = 0});
    world.run();
    CHECK(world.take_versions(client) == Versions{version});
    world.ack(client, version);  // ignored
    world.run();
    CHECK(world.unfinished_in_log() == 0);
    CHECK(world.reasons().size() == 2);
}

TEST_CASE("the tombstone of a TTL-0 message says whether it was sent and acknowledged") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    world.push(uaid, channel, Push{.ttl_s = 0});  // nobody is connected
    world.run(1s);
    const auto client = world.connect(uaid);
    world.push(uaid, channel, Push{.ttl_s = 0});
    world.run(1s);
    const auto acked = world.push(uaid, channel, Push{.ttl_s = 0});
    world.run(100ms);
    world.ack(client, acked);
    world.run(1s);
    CHECK(world.reasons() == std::vector<std::string>(3, "expired"));
    CHECK(world.in_tombstones(core::kSentHeader) ==
          std::vector<std::string>{"unanswered", "acked"});
}

TEST_CASE("a message that expires says whether a connection got it") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    world.push(uaid, channel, Push{.ttl_s = 5});
    world.run(1s);
    world.hang_up(client);
    world.push(uaid, channel, Push{.ttl_s = 5});
    world.run(10s);
    world.connect(uaid);
    world.run(10s);
    CHECK(world.reasons() == std::vector<std::string>(2, "expired"));
    CHECK(world.in_tombstones(core::kSentHeader) == std::vector<std::string>{"unanswered"});
}

TEST_CASE("after a take-over a TTL-0 message waits five seconds for its client") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    world.crash();
    const auto version = world.push(uaid, channel, Push{.ttl_s = 0});
    world.run(100ms);
    world.serve("home-2");
    const bool late = GENERATE(false, true);
    if (late) world.run(7s);
    const auto client = world.connect(uaid);
    CHECK(world.take_versions(client) == (late ? Versions{} : Versions{version}));
    CHECK(world.unfinished_in_log() == 0);
}

// Verified to fail when Delivery::finished() keeps held messages.
TEST_CASE("a TTL-0 message that its sender deleted is not held for its client") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    world.crash();
    const auto deleted = world.push(uaid, channel, Push{.ttl_s = 0});
    const auto kept = world.push(uaid, channel, Push{.ttl_s = 0});
    const bool before_the_home = GENERATE(true, false);
    if (before_the_home) world.finish(uaid, deleted, core::FinishReason::deleted);
    world.run(100ms);
    world.serve("home-2");
    if (!before_the_home) world.finish(uaid, deleted, core::FinishReason::deleted);
    world.run(100ms);
    CHECK(world.take_versions(world.connect(uaid)) == Versions{kept});
}

// Verified to fail when Delivery::finished() keeps held messages that a former home finished as
// expired.
TEST_CASE("a TTL-0 message that a former home has sent is not sent by the next one") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    const auto version = world.push(uaid, channel, Push{.ttl_s = 0});
    world.run(2 * edge::TombstoneOutbox::kLinger);
    CHECK(world.take_versions(client) == Versions{version});
    world.crash();
    world.lose_store();
    world.serve("home-2");
    CHECK(world.take_versions(world.connect(uaid)).empty());
}

// Verified to fail without Delivery::replace_awaiting().
TEST_CASE("a newer message of its Topic replaces a TTL-0 message that is held") {
    const std::uint32_t ttl_s = GENERATE(0, 3600);
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    world.crash();
    world.push(uaid, channel, Push{.ttl_s = 0, .topic = "weather"});
    const auto other = world.push(uaid, channel, Push{.ttl_s = 0, .topic = "mail"});
    const auto newer = world.push(uaid, channel, Push{.ttl_s = ttl_s, .topic = "weather"});
    world.run(100ms);
    world.serve("home-2");
    CHECK(world.take_versions(world.connect(uaid)) == Versions{other, newer});
}

// Verified to fail when Delivery::finished() withdraws nothing from the output.
TEST_CASE("a message and its end that are read in one turn are not sent") {
    const std::uint32_t ttl_s = GENERATE(0, 3600);
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    world.take(client);
    world.log->hold_readers(kNotifications, true);
    const auto deleted = world.push(uaid, channel, Push{.ttl_s = ttl_s});
    const auto kept = world.push(uaid, channel, Push{.ttl_s = ttl_s});
    world.finish(uaid, deleted, core::FinishReason::deleted);
    world.run(100ms);
    world.log->hold_readers(kNotifications, false);
    world.run();
    CHECK(world.take_versions(client) == Versions{kept});
}

// Verified to fail when Delivery::fold() does not finish the message that a Topic message replaced.
TEST_CASE("a replaced Topic message gives its place in the window to the newer one") {
    ServingHome world{{.delivery_window = 1}};
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    const auto older = world.push(uaid, channel, Push{.topic = "weather"});
    world.run();
    CHECK(world.take_versions(client) == Versions{older});
    const auto newer = world.push(uaid, channel, Push{.topic = "weather"});
    world.log->fail_next_publishes(1);  // the tombstone of the older one comes later
    world.run(100ms);
    CHECK(world.take_versions(client) == Versions{newer});
}

// Verified to fail when read_once() reads without heeding has_bytes_for().
TEST_CASE("the messages under way to a client never exceed its bytes") {
    ServingHome world{{.delivery_window = 1'000, .delivery_window_bytes = 20'000}};
    const auto [uaid, channel] = world.subscribed();
    const bool attached_before = GENERATE(true, false);
    std::uint64_t client = attached_before ? world.connect(uaid) : 0;
    Versions sent;
    for (int i = 0; i < 20; ++i) {
        sent.push_back(world.push(uaid, channel, Push{.body = std::string(3'000, 'x')}));
    }
    world.run();
    if (!attached_before) client = world.connect(uaid);
    Versions got;
    for (int round = 0; round < 20 && got.size() < sent.size(); ++round) {
        world.run(2s);
        const auto frames = world.take(client);
        std::size_t bytes = 0;
        for (const auto& frame : frames) bytes += frame.size();
        CHECK(bytes <= 20'000);
        for (const auto& version : HomeWorld::versions(frames)) {
            got.push_back(version);
            world.ack(client, version);
        }
    }
    CHECK(got == sent);
}

TEST_CASE("a newer message of a channel's Topic replaces the older, whose tombstone goes first") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto other = world.push(uaid, channel);
    world.push(uaid, channel, Push{.topic = "weather"});
    const auto newer = world.push(uaid, channel, Push{.topic = "weather"});
    world.run();
    const auto client = world.connect(uaid);
    CHECK(world.take_versions(client) == Versions{newer, other});  // Topic messages first
    world.ack(client, newer);
    world.ack(client, other);
    world.run();
    CHECK(world.reasons() == Received{"replaced", "acked", "acked"});
}

// Verified to fail when TombstoneOutbox::Impl::must_wait() is always false: the first publish of
// "replaced" fails while the one of "acked", under way behind it, does not.
TEST_CASE(
    "no ack of a Topic message reaches the log before the tombstones of the messages that it "
    "replaced") {
    const auto seed = GENERATE(range(0U, 10U));
    CAPTURE(seed);
    ServingHome world{{.seed = seed, .append_delay_max = 200ms}};
    world.run(2s);
    const auto client = world.connect();
    const core::ChannelId channel{core::random_uuid4()};
    world.register_channel(client, channel);
    world.run(2s);
    world.push(world.uaid(client), channel, Push{.topic = "t"});
    world.run(2s);
    REQUIRE(world.take_versions(client).size() == 1);
    const auto newer = world.push(world.uaid(client), channel, Push{.topic = "t"});
    world.log->fail_next_publishes(1);  // the next one: the tombstone of the older
    while (world.take_versions(client).empty()) world.run(1ms);
    world.ack(client, newer);
    world.run(10s);
    CHECK(world.reasons() == Received{"replaced", "acked"});
}

TEST_CASE("messages expire by the log's time, whatever the host's clock says") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    world.push(uaid, channel, Push{.ttl_s = 60});
    const auto stays = world.push(uaid, channel, Push{.ttl_s = 3600});
    world.run(61s);
    const auto client = world.connect(uaid);
    CHECK(world.take_versions(client) == Versions{stays});
    world.run();
    CHECK(world.reasons() == Received{"expired"});
}

TEST_CASE("a deleted message is not sent, and frees its place if it was") {
    ServingHome world{{.delivery_window = 1}};
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    const auto first = world.push(uaid, channel);
    const auto second = world.push(uaid, channel);
    const auto third = world.push(uaid, channel);
    world.run();
    CHECK(world.take_versions(client) == Versions{first});
    for (const auto& version : {first, second}) {
        world.finish(uaid, version, core::FinishReason::deleted);
    }
    world.run();
    CHECK(world.take_versions(client) == Versions{third});
}

TEST_CASE("a tombstone is published again until it is read back") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    const auto version = world.push(uaid, channel);
    world.run();
    SECTION("after failures") { world.log->fail_next_publishes(3); }
    SECTION("while the log is away") { world.log->set_away(true); }
    world.ack(client, version);
    world.run(100ms);
    CHECK(world.home->status().pending_tombstones == 1);
    world.run(20s);
    world.log->set_away(false);
    world.run(20s);
    CHECK(world.unfinished_in_log() == 0);
    CHECK(world.home->status().pending_tombstones == 0);
    CHECK(world.take_versions(world.connect(uaid)).empty());
}

TEST_CASE("a pending tombstone outlives a crash: the next home publishes it") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    const auto version = world.push(uaid, channel);
    world.run();
    world.log->set_away(true);
    world.ack(client, version);
    world.run(3s);  // the store has the ack when its tombstone takes so long
    world.crash();
    world.log->set_away(false);
    CHECK(world.unfinished_in_log() == 1);
    world.serve("home-2");
    CHECK(world.unfinished_in_log() == 0);
    CHECK(world.take_versions(world.connect(uaid)).empty());
}

// Verified to fail when flush() does not write postponed changes.
TEST_CASE("a stop leaves the acks that the log does not have in the store") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    const auto version = world.push(uaid, channel);
    world.run();
    world.log->fail_next_publishes(1);
    world.ack(client, version);
    world.home->flush();  // as its shard does before it destroys it
    world.crash();
    CHECK(world.unfinished_in_log() == 1);
    world.serve("home-2");
    CHECK(world.take_versions(world.connect(uaid)).empty());
    world.run(1s);
    CHECK(world.unfinished_in_log() == 0);
}

// Verified to fail when ended() does not write postponed changes.
TEST_CASE("a home that hands over leaves its store with the acks that the log does not have") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    const auto version = world.push(uaid, channel);
    world.run();
    world.home->placed_elsewhere();
    world.publish(Topic::kSubscriptions,
                  core::encode(core::Lease{.epoch = 2, .node = "next", .role = "edge"}));
    world.ack(client, version);
    world.log->fail_next_publishes(1);
    world.run(50ms);
    world.crash();
    CHECK(world.unfinished_in_log() == 1);
    world.serve("home-2");
    CHECK(world.take_versions(world.connect(uaid)).empty());
    world.run(1s);
    CHECK(world.unfinished_in_log() == 0);
}

// Verified to fail when flush_or_turn() flushes although the commit failed.
TEST_CASE("while the store cannot be written nothing leaves that follows from the fold") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    world.run(2s);  // all of that is written
    world.disk.fail(test::FaultyDisk::Call::write, 1'000'000, ".log");
    const auto first = world.push(uaid, channel, Push{.topic = "weather"});
    world.run(2s);
    CHECK(world.take_versions(client) == Versions{first});  // the store is written later
    world.ack(client, first);
    world.send_frame(client, "{}");
    const auto second = world.push(uaid, channel);
    world.run(15s);
    CHECK(world.take(client).empty());
    CHECK(world.reasons().empty());
    CHECK(world.home->stuck());
    world.disk.heal();
    world.crash();
    world.serve("home-2");
    const auto again = world.connect(uaid);
    CHECK(world.take_versions(again) == Versions{first, second});
    world.ack(again, first);
    world.run();
    CHECK(world.reasons() == Received{"acked"});
}

// Verified to fail when dirty() asks the store alone, and when it counts no rows.
TEST_CASE("a message that is acknowledged within a second is never written to the store") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    world.run(2s);
    const auto written = world.push(uaid, channel, Push{.topic = "weather"});
    world.run(10ms);
    CHECK(world.take_versions(client) == Versions{written});
    world.disk.fail(test::FaultyDisk::Call::write, 1'000'000, ".log");
    const auto second = world.push(uaid, channel);
    world.run(10ms);
    CHECK(world.take_versions(client) == Versions{second});
    world.ack(client, second);
    world.run(500ms);
    CHECK(world.unfinished_in_log() == 1);
    CHECK(world.disk.struck() == 0);

    for (int i = 0; i < 2'400; ++i) world.push(uaid, channel);  // wait for their acks
    world.run(100ms);
    CHECK(world.disk.struck() > 0);
    world.disk.heal();
}

// Verified to fail when TombstoneOutbox::read_more() reads nothing, and when pump() heeds no limit.
TEST_CASE(
    "pending tombstones beyond the bound of memory go out in portions and leave space for others") {
    ServingHome world{{.append_delay_max = 100ms}};
    world.run(2s);
    const core::Uaid uaid{core::random_uuid4()};
    const core::ChannelId channel{core::random_uuid4()};
    world.crash();
    constexpr int kTombstones = 3 * edge::TombstoneOutbox::kHeldMax;
    for (int i = 0; i < kTombstones; ++i) {
        world.push(uaid, channel, Push{.ttl_s = 0});
        if (i % 1'000 == 0) world.run(1s);
    }
    world.run(10s);
    world.start_home("home-2");
    world.home->placed_here(world.floor());
    std::size_t most = 0;
    for (int i = 0; i < 5'000 && world.unfinished_in_log() > 0; ++i) {
        world.run(10ms);
        most = std::max(most, world.tombstones.count);
    }
    CHECK(most <= edge::TombstonesInFlight::kMax);
    CHECK(world.unfinished_in_log() == 0);
    world.run(5s);
    CHECK(world.home->status().pending_tombstones == 0);
    CHECK(world.reasons().size() == kTombstones);
    test::check_sessions(world);
}

TEST_CASE("while the log is away attached clients stay and get what is pending") {
    ServingHome world{{.delivery_window = 1}};
    const auto [uaid, channel] = world.subscribed();
    const auto first = world.push(uaid, channel);
    const auto second = world.push(uaid, channel);
    world.run();
    const auto client = world.connect(uaid);
    CHECK(world.take_versions(client) == Versions{first});
    world.log->set_away(true);
    world.run(30s);
    world.ack(client, first);
    world.run(1s);
    CHECK(world.take_versions(client) == Versions{second});
    CHECK(world.take_versions(world.connect(uaid)) == Versions{second});
    const auto unknown = world.connect(core::Uaid{core::random_uuid4()});
    world.run(10s);
    CHECK(world.take(unknown) == Received{"closed 1013 Unproven"});
}

TEST_CASE("tombstones wait a moment for others, and a home that ends sends them first") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    const auto first = world.push(uaid, channel);
    const auto second = world.push(uaid, channel);
    world.run();
    world.ack(client, first);
    world.run(edge::TombstoneOutbox::kLinger / 2);
    CHECK(world.home->status().pending_tombstones == 1);
    CHECK(world.reasons().empty());
    world.ack(client, second);
    world.run(edge::TombstoneOutbox::kLinger);
    CHECK(world.reasons() == Received{"acked", "acked"});

    const auto third = world.push(uaid, channel);
    world.run();
    world.ack(client, third);
    world.run(1ms);
    CHECK(world.reasons().size() == 2);
    world.home->placed_elsewhere();
    world.publish(Topic::kSubscriptions,
                  core::encode(core::Lease{.epoch = 2, .node = "next", .role = "edge"}));
    world.run(1ms);
    CHECK(world.reasons().size() == 3);
}

TEST_CASE("a home that ends publishes tombstones again that the log refused a moment ago") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    const auto version = world.push(uaid, channel);
    world.run();
    world.log->fail_next_publishes(1);
    world.ack(client, version);
    world.run(edge::TombstoneOutbox::kLinger + 10ms);
    CHECK(world.reasons().empty());
    world.home->flush();
    world.run(1ms);
    CHECK(world.reasons() == Received{"acked"});
    world.run();
    CHECK(world.reasons() == Received{"acked"});
    CHECK(world.home->status().pending_tombstones == 0);
    CHECK(world.tombstones.count == 0);
}

TEST_CASE("a full batch of tombstones is published at once") {
    ServingHome world{{.delivery_window = edge::TombstoneOutbox::kFullBatch}};
    const auto [uaid, channel] = world.subscribed();
    const auto client = world.connect(uaid);
    Versions pushed;
    for (std::size_t i = 0; i < edge::TombstoneOutbox::kFullBatch; ++i) {
        pushed.push_back(world.push(uaid, channel));
    }
    world.run();
    for (const auto& version : pushed) world.ack(client, version);
    world.run(1ms);
    CHECK(world.reasons().size() == edge::TombstoneOutbox::kFullBatch);
}

TEST_CASE("a home knows whether a message is on its way to its client, and since when") {
    using edge::DeliveryNow;
    HomeWorld world;
    world.start_home();
    const core::MessageRef any{core::Uaid{core::random_uuid4()},
                               core::new_message_key(world.clock.wall())};
    CHECK(world.home->delivery_now(any) == DeliveryNow{});
    world.home->placed_here(world.floor());
    world.run();
    const auto [uaid, channel] = world.subscribed();
    const auto version = world.push(uaid, channel);
    world.run();
    const auto message = *world.tokens.open_message(version);
    CHECK(world.home->delivery_now(message) == DeliveryNow{.served = true});

    const auto before = world.clock.wall();
    const auto client = world.connect(uaid);
    const auto sent = world.home->delivery_now(message).sent;
    REQUIRE(sent);
    CHECK(*sent >= before);
    world.run(10s);
    CHECK(world.home->delivery_now(message) ==
          DeliveryNow{.served = true, .connected = true, .sent = sent});
    world.hang_up(client);
    CHECK(world.home->delivery_now(message) ==
          DeliveryNow{.served = true, .sent = sent, .on_earlier_connection = true});
    const auto again = world.connect(uaid);
    world.run();
    CHECK_FALSE(world.home->delivery_now(message).on_earlier_connection);
    world.log->set_away(true);
    world.ack(again, version);
    world.run();
    CHECK(world.home->delivery_now(message).answered);
    world.log->set_away(false);
    world.run(10s);
    CHECK_FALSE(world.home->delivery_now(message).answered);
}

TEST_CASE("a home knows whether a client is connected, since when, and what is on its way to it") {
    using edge::ClientNow;
    HomeWorld world;
    world.start_home();
    CHECK(world.home->client_now(core::Uaid{core::random_uuid4()}) == ClientNow{});
    world.home->placed_here(world.floor());
    world.run();
    const auto [uaid, channel] = world.subscribed();
    CHECK(world.home->client_now(uaid) == ClientNow{.served = true});

    const auto client = world.connect(uaid);
    const auto since = world.home->client_now(uaid).attached_since;
    REQUIRE(since);
    world.run(10s);
    const auto first = world.push(uaid, channel);
    world.run(1s);
    const auto second = world.push(uaid, channel);
    world.run();
    const auto now = world.home->client_now(uaid);
    CHECK(now.attached_since == since);
    CHECK(now.edge == core::NodeId{"front"});
    CHECK(now.unanswered == 2);
    REQUIRE(now.sent.size() == 2);
    CHECK(now.sent[0].first == world.tokens.open_message(first)->key);
    CHECK(now.sent[1].first == world.tokens.open_message(second)->key);
    CHECK(now.sent[0].second < now.sent[1].second);
    world.ack(client, first);
    world.run();
    CHECK(world.home->client_now(uaid).sent == decltype(now.sent){now.sent[1]});
}

TEST_CASE("what may have expired while the host was down waits undelivered, and is not finished") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    const auto hour = world.push(uaid, channel, Push{.ttl_s = 3'600});
    const auto day = world.push(uaid, channel, Push{.ttl_s = 86'400});
    world.run();
    world.crash();
    const auto down_since = world.clock.wall();
    const auto missing = [&](core::Duration most) {
        world.log->set_missing_time({.parts = {{.until = down_since, .most = most}}});
    };
    missing(5h);
    world.clock.advance(1s);
    world.serve("home-2");
    const auto client = world.connect(uaid);
    CHECK(world.take_versions(client) == Versions{day});
    const auto fresh = world.push(uaid, channel, Push{.ttl_s = 3'600});
    world.run();
    CHECK(world.take_versions(client) == Versions{fresh});
    world.executor.run_for(10min);
    CHECK(world.take_versions(client).empty());
    CHECK(world.reasons().empty());

    SECTION("and comes, once, when it is not so old after all") {
        missing(30min);
        world.executor.run_for(2s);
        CHECK(world.take_versions(client) == Versions{hour});
        world.executor.run_for(10s);
        CHECK(world.take_versions(client).empty());
        world.ack(client, hour);
        world.run();
        CHECK(world.reasons() == Received{"acked"});
    }
    SECTION("also by degrees, and to a client that attached meanwhile") {
        missing(3h);
        const auto again = world.connect(uaid);
        CHECK(world.take_versions(again) == Versions{day, fresh});
        world.log->set_missing_time({});
        world.executor.run_for(2s);
        CHECK(world.take_versions(again) == Versions{hour});
    }
    SECTION("and is finished when the log says that its TTL is over") {
        world.executor.run_for(51min);
        CHECK(world.take_versions(world.connect(uaid)) == Versions{day});
        world.run();
        CHECK(world.reasons() == Received{"expired", "expired"});
    }
}

TEST_CASE("a message with TTL 0 of before the host was down does not wait for its client") {
    ServingHome world;
    const auto [uaid, channel] = world.subscribed();
    world.crash();
    const bool was_down = GENERATE(true, false);
    const auto version = world.push(uaid, channel, Push{.ttl_s = 0});
    world.run();
    if (was_down) {
        world.log->set_missing_time({.parts = {{.until = world.clock.wall(), .most = 10s}}});
    }
    world.serve("home-2");
    CHECK(world.take_versions(world.connect(uaid)) == (was_down ? Versions{} : Versions{version}));
}
