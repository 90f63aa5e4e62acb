#include "bridge/message.hpp"
#include "ingest/ingest_world.hpp"
#include "records/client_gone.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using ingest::HttpReply;

namespace {

struct Bridged : IngestWorld {
    explicit Bridged(core::RouterType type = core::RouterType::fcm, bool delivered = true)
        : IngestWorld({.bridged_delivery = delivered}), target(new_target()) {
        subscribe(target.uaid, core::ChannelId{core::random_uuid4()}, type);
        run_loops();
    }
    /// Registers the client once more, with other data.
    void has(core::RouterType type, std::string_view router_data) {
        core::ClientRecorded client;
        client.uaid = target.uaid;
        client.router_type = type;
        client.router_data = router_data;
        publish(subscriptions_of(target.uaid), core::encode(client));
        run_loops();
    }
    HttpReply send(const std::string& body = "ciphertext") {
        return ask(post_data(target.path).with_body(body));
    }
    std::vector<log::MemoryLog::Stored> tier() const {
        return records(log::Topic::retry(0).index());
    }

    Target target;
};

HttpReply after(int seconds) {
    HttpReply like;
    like.add("Retry-After", std::to_string(seconds));
    return like;
}

}  // namespace

TEST_CASE("a bridged client's message goes to the first delay tier, channel not checked") {
    const auto type = GENERATE(core::RouterType::fcm, core::RouterType::apns);
    Bridged world{type};
    const auto reply = world.ask(IngestWorld::post_data(world.target.path)
                                     .with("TTL", "2592001")
                                     .with("Topic", "news")
                                     .with("Urgency", "high"));
    CHECK(world.notifications().empty());
    const auto tier = world.tier();
    REQUIRE(tier.size() == 1);
    const auto& record = tier[0].record;
    const auto message =
        bridge::parse_bridged(record.headers[2].value, record.key, *record.value).value();
    CHECK(message ==
          bridge::BridgedMessage{.uaid = world.target.uaid,
                                 .key = message.key,
                                 .message_id = message.message_id,
                                 .channel = world.target.channel,
                                 .to = {.type = type,
                                        .app = type == core::RouterType::fcm ? "my-app" : "release",
                                        .token = "t"},
                                 .ttl_s = 2'592'000,
                                 .topic = "news",
                                 .urgency = core::Urgency::high,
                                 .encoding = "aes128gcm",
                                 .source = world.node_.text,
                                 .body = "ciphertext"});
    HttpReply expected;  // as any other
    expected.status = 201;
    expected.add("Location", "https://push.example.com:8443/m/" + message.message_id);
    expected.add("TTL", "2592000");
    expected.add("Vary", std::string{IngestWorld::kVary});
    CHECK(reply == expected);
}

TEST_CASE("a bridged client's message is not accepted without a bridge that delivers it") {
    Bridged world{core::RouterType::fcm, false};
    CHECK(world.send() ==
          error(503, "null", "Service Unavailable",
                "Messages of this client are not delivered: no bridge to FCM is configured.",
                after(3'600)));
    world.has(core::RouterType::apns, IngestWorld::kRouterData);
    CHECK(world.send() ==
          error(503, "null", "Service Unavailable",
                "Messages of this client are not delivered: no bridge to APNs is configured.",
                after(3'600)));
    CHECK(world.ask(IngestWorld::post_data(world.target.path).without("TTL")).status == 400);
    CHECK(world.tier().empty());
}

TEST_CASE("clients of no bridge that there is are not sent to") {
    Bridged world{core::RouterType::webhook};
    CHECK(world.send().status == 503);
    CHECK(world.tier().empty());
}

TEST_CASE("a sender receives the error of its bridged client") {
    Bridged world;
    HttpReply cached;
    cached.add("Cache-Control", "max-age=86400");
    const auto ended = error(
        410, "106", "Gone", "No such subscription: it has ended, do not send to it again.", cached);
    world.has(core::RouterType::fcm, R"({"app_id":"my-app"})");
    CHECK(world.send() == ended);
    world.has(core::RouterType::apns, R"({"token":"t"})");
    CHECK(world.send() == ended);
    world.has(core::RouterType::fcm, R"({"token":"t","app_id":"former"})");
    CHECK(world.send() ==
          error(400, "106", "Bad Request", "The application id is not configured here."));
    world.has(core::RouterType::apns, R"({"token":"t","rel_channel":"former"})");
    CHECK(world.send() ==
          error(400, "null", "Bad Request", "The release channel is not configured here."));
    CHECK(world.tier().empty());
}

TEST_CASE("a message that its bridge would not take is 413") {
    Bridged world{GENERATE(core::RouterType::fcm, core::RouterType::apns)};
    CHECK(world.send(std::string(2'500, 'x')).status == 201);
    CHECK(world.send(std::string(3'060, 'x')) ==
          error(413, "104", "Payload Too Large",
                "The message is larger than the client's bridge allows."));
    CHECK(world.tier().size() == 1);
}

TEST_CASE("a client whose token is dead is 410 from then on") {
    Bridged world;
    CHECK(world.send().status == 201);
    const auto publish_gone = [&](std::string_view token) {
        world.publish(
            world.subscriptions_of(world.target.uaid),
            core::encode(core::ClientGone{world.target.uaid, core::hash_of_token(token)}));
        world.run_loops();
    };
    publish_gone("another token");
    CHECK(world.send().status == 201);
    publish_gone("t");
    CHECK(world.send().status == 410);
    CHECK(world.tier().size() == 2);
}
