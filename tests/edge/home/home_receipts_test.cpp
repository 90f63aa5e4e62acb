#include "core/base64url.hpp"
#include "edge/home/check_bounds.hpp"
#include "records/receipt.hpp"
#include "support/home_world.hpp"
#include "support/record_view.hpp"

#include <tuple>
#include <utility>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using test::HomeWorld;
using test::Received;
using test::ServingHome;
using Push = HomeWorld::Push;

namespace {

/// A home that serves, and one client with a channel; one receipt subscription receives all
/// outcomes.
struct World : HomeWorld {
    World() : World(Options{}) {}
    explicit World(const Options& options) : HomeWorld(options) {
        serve();
        run(2s);
        std::tie(client, channel) = subscribed();
    }
    std::string send(Push what = {}) {
        if (!what.receipt) what.receipt = core::to_text(receipt);
        const auto id = push(client, channel, what);
        names[id] = names.size() < 26 ? std::string(1, static_cast<char>('a' + names.size()))
                                      : std::to_string(names.size());
        run();
        return id;
    }
    /// The published outcomes, in log order: "<a for the first message …> <outcome> <reason>".
    Received reported() {
        Received out;
        for (const auto& stored : log->records({log::Topic::kEvents, kPartition})) {
            const auto one = core::decode_receipt(*test::ReadBack{stored.record});
            if (!one) continue;
            CHECK(one->to == receipt);
            out.push_back(names.at(one->message_id) + " " +
                          std::string{to_string(core::outcome_of(one->reason))} + " " +
                          std::string{to_string(one->reason)});
        }
        return out;
    }

    core::ReceiptRef receipt{.id = {core::random_uuid4()},
                             .sender = core::SenderId{core::random_uuid4()}};
    std::map<std::string, std::string> names;
    core::Uaid client;
    core::ChannelId channel;
};

}  // namespace

TEST_CASE("the sender of a message with a receipt is notified that it was acknowledged") {
    World world;
    const auto session = world.connect(world.client);
    world.push(world.client, world.channel);  // nobody wants a receipt for this one
    const auto version = world.send();
    CHECK(world.reported().empty());
    for (const auto& one : world.take_versions(session)) world.ack(session, one);
    world.run();
    CHECK(world.reported() == Received{"a acknowledged acked"});
    CHECK(world.reasons() == Received{"acked", "acked"});
    CHECK(world.home->status().pending_tombstones == 0);
}

TEST_CASE("a message with a receipt is reported as expired though its client never comes") {
    World world;
    world.send({.ttl_s = 10});
    world.push(world.client, world.channel, Push{.ttl_s = 10});
    world.run(9s);
    CHECK(world.reported().empty());
    world.run(4s);
    CHECK(world.reported() == Received{"a expired expired"});
    CHECK(world.reasons() == Received{"expired"});  // nobody wants a receipt for the other one
    world.run(1h);
    CHECK(world.reported().size() == 1);
}

TEST_CASE("a message without a home for hours after its end is reported as expired, once") {
    World world;
    world.send({.ttl_s = 10});
    world.crash();
    world.clock.advance(3h);
    world.lose_store();
    world.serve("home-2");
    world.run(4s);
    CHECK(world.reported() == Received{"a expired expired"});
    CHECK(world.reasons() == Received{"expired"});
    world.run(1h);
    CHECK(world.reported().size() == 1);
}

TEST_CASE("messages of an ended subscription, and replaced messages, are gone") {
    World world;
    world.send({.topic = "score"});
    world.send({.topic = "score"});
    CHECK(world.reported() == Received{"a gone replaced"});
    const auto session = world.connect(world.client);
    world.unregister_channel(session, world.channel);
    CHECK(world.reported() == Received{"a gone replaced", "b gone unregistered"});
}

TEST_CASE("of a message with TTL 0 the ack is awaited for a moment") {
    World world;
    const auto session = world.connect(world.client);
    const auto version = world.send({.ttl_s = 0});
    world.send({.ttl_s = 0});
    world.ack(session, version);
    world.run();
    CHECK(world.reported() == Received{"a acknowledged acked"});
    world.run(edge::Outcomes::kAckWait);
    CHECK(world.reported() == Received{"a acknowledged acked", "b expired expired"});
    CHECK(world.reasons().size() == 2);
}

TEST_CASE("an outcome that the log did not take is published again before the tombstone") {
    World world;
    const auto session = world.connect(world.client);
    const auto version = world.send();
    world.log->fail_next_publishes(3);
    world.ack(session, version);
    world.run(1200ms);
    CHECK(world.reported().empty());
    CHECK(world.reasons().empty());

    const bool killed = GENERATE(false, true);
    if (killed) {
        world.crash();
        world.serve("home-2");
    }
    world.run(5s);  // the pauses between tries grow
    CHECK(world.reported().front() == "a acknowledged acked");
    CHECK(world.reasons() == Received{"acked"});
    CHECK(world.home->status().pending_tombstones == 0);
}

TEST_CASE(
    "a standby keeps receipts and publishes nothing; the home that takes over publishes them") {
    World world;
    world.crash();
    world.start_home("standby");
    world.send({.ttl_s = 10});
    world.run(20s);
    CHECK(world.reported().empty());
    world.home->placed_here(world.floor());
    world.run(4s);
    CHECK(world.reported() == Received{"a expired expired"});
}

TEST_CASE("a message that is put again after its end is not reported a second time") {
    World world;
    const auto session = world.connect(world.client);
    const auto topic = GENERATE(as<std::optional<std::string>>{}, std::nullopt, "score");
    const auto version = world.send({.topic = topic});
    world.ack(session, version);
    world.run(2s);
    CHECK(world.reported() == Received{"a acknowledged acked"});
    world.publish(log::Topic::kNotifications, world.last_put);
    world.run(2s);
    CHECK(world.reasons() == Received{"acked", "dropped"});
    CHECK(world.reported() == Received{"a acknowledged acked"});
}

TEST_CASE("a receipt that does not decode is reported to nobody and delays nothing") {
    World world;
    const auto session = world.connect(world.client);
    world.ack(session, world.send({.receipt = "nobody"}));
    world.run();
    CHECK(world.reported().empty());
    CHECK(world.reasons() == Received{"acked"});
}

TEST_CASE("a message that its sender deletes is not reported") {
    World world;
    world.finish(world.client, world.send({.ttl_s = 10}), core::FinishReason::deleted);
    world.run(20s);
    CHECK(world.reported().empty());
    CHECK(world.reasons() == Received{"deleted"});
}

TEST_CASE("the end of a subscription reaches the owner that its VAPID key names") {
    ServingHome world;
    const auto session = world.connect();
    const auto key = core::base64url(std::string(1, '\4') + std::string(64, 'k'));
    const auto add = [&](const std::string& with) {
        const core::ChannelId channel{core::random_uuid4()};
        world.send_frame(session, R"({"messageType":"register","channelID":")" +
                                      core::to_dashed(channel) + "\"" + with + "}");
        world.run();
        return channel;
    };
    const auto events = [&] {
        Received out;
        for (const auto& stored : world.log->records({log::Topic::kEvents, 0})) {
            out.push_back(*stored.record.value);
        }
        return out;
    };
    const auto bound = add(R"(,"key":")" + key + "\"");
    const auto unbound = add("");
    for (const auto& channel : {unbound, bound}) {
        CHECK(events().empty());
        world.unregister_channel(session, channel);
    }
    REQUIRE(events().size() == 1);
    const auto hash = core::sha256(std::string(1, '\4') + std::string(64, 'k'));
    const auto hex = core::hex({reinterpret_cast<const char*>(hash.data()), hash.size()});
    const auto event = events().front();
    CHECK(event.find("\"beckon.subscription.gone\"") != std::string::npos);
    CHECK(event.find("vapid-" + hex.substr(0, 32)) != std::string::npos);
    CHECK(event.find(world.tokens.seal_endpoint(world.uaid(session), bound, hash)) !=
          std::string::npos);
    CHECK(event.find("\"unregistered\"") != std::string::npos);
}

TEST_CASE("the outcomes of a home under way are bounded, and all are published") {
    World world{{.append_delay_max = 100ms, .delivery_window = 200}};
    const auto session = world.connect(world.client);
    constexpr int kMessages = 3 * edge::Outcomes::kInFlightMax;
    for (int i = 0; i < kMessages; ++i) world.send();
    for (const auto& one : world.take_versions(session)) world.ack(session, one);
    std::size_t most = 0;
    for (int i = 0; i < 5'000 && world.reported().size() < kMessages; ++i) {
        world.run(1ms);
        most = std::max(most, world.outcomes.count);
    }
    CHECK(most == edge::Outcomes::kInFlightMax);
    CHECK(world.reported().size() == kMessages);
    world.run(5s);
    CHECK(world.outcomes.count == 0);
    CHECK(world.home->status().pending_tombstones == 0);
    test::check_sessions(world);
}

TEST_CASE("a home has one outcome under way while other homes fill what its shard may have") {
    World world;
    const auto session = world.connect(world.client);
    world.send();
    world.send();
    world.outcomes.count = edge::OutcomesInFlight::kOutcomesMax;
    world.log->set_away(true);
    for (const auto& one : world.take_versions(session)) world.ack(session, one);
    world.run(1s);
    CHECK(world.outcomes.count == edge::OutcomesInFlight::kOutcomesMax + 1);
    world.log->set_away(false);
    world.run(20s);
    CHECK(world.reported() == Received{"a acknowledged acked", "b acknowledged acked"});
    CHECK(world.outcomes.count == edge::OutcomesInFlight::kOutcomesMax);
}

TEST_CASE("a home that ends frees its places among the outcomes of its shard") {
    World world;
    const auto session = world.connect(world.client);
    world.send();
    world.log->set_away(true);
    for (const auto& one : world.take_versions(session)) world.ack(session, one);
    world.run(1s);
    CHECK(world.outcomes.count == 1);
    world.home.reset();
    CHECK(world.outcomes.count == 0);
    CHECK(world.tombstones.count == 0);
}
