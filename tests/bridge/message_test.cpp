#include "bridge/message.hpp"

#include "bridge/payload.hpp"
#include "support/record_view.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::bridge;

namespace {

const core::Uaid kUaid{*core::parse_hex16("0f1e2d3c4b5a49788796a5b4c3d2e1f0")};
const core::MessageKey kKey{*core::parse_hex16("0192f0c1a2b37abc8def0123456789ab")};
const core::ChannelId kChannel{*core::parse_hex16("11112222333344445555666677778888")};
constexpr auto kClient = "0f1e2d3c4b5a49788796a5b4c3d2e1f0";
constexpr auto kId = "msg_0192f0c1a2b37abc8def0123456789ab";

BridgedMessage empty_message() {
    return {.uaid = kUaid,
            .key = kKey,
            .message_id = "the-message-id",
            .channel = kChannel,
            .to = {.type = core::RouterType::fcm, .app = "my-app", .token = "a-token"},
            .ttl_s = 60,
            .source = "node"};
}

BridgedMessage full_message() {
    auto message = empty_message();
    message.topic = "t";
    message.urgency = core::Urgency::high;
    message.encoding = "aesgcm";
    message.encryption = "salt=abc";
    message.crypto_key = "dh=def";
    message.reliability_id = "rid-1";
    message.traceparent = "00-1";
    message.body = std::string{
        "\0\xff"
        "body",
        6};
    return message;
}

BridgedMessage for_apns(BridgedMessage message, std::string aps = {}) {
    message.to = {.type = core::RouterType::apns,
                  .app = "release",
                  .token = "a-token",
                  .aps = std::move(aps)};
    return message;
}

core::Result<BridgedMessage> read_back(const core::Record& record) {
    const test::ReadBack back{record};
    return parse_bridged(*(*back).header("ce_id"), (*back).key, *(*back).value);
}

std::string why(std::string_view id, std::string_view uaid, std::string_view event) {
    const auto parsed = parse_bridged(id, uaid, event);
    return parsed ? "(parsed)" : parsed.error().message;
}

}  // namespace

TEST_CASE("a bridged message comes back from its record as it was") {
    for (const auto& message :
         {empty_message(), full_message(), for_apns(full_message(), R"({"badge":1})")}) {
        const auto record = encode(message);
        CHECK(record.key == kClient);
        CHECK(read_back(record) == message);
    }
}

TEST_CASE("a bridged message is a delivery of a CloudEvent under an id of its own") {
    const auto record = encode(empty_message());
    CHECK(record.headers == std::vector<core::Header>{{"ce_specversion", "1.0"},
                                                      {"ce_type", "beckon.delivery.v1"},
                                                      {"ce_id", kId},
                                                      {"content-type", "application/json"}});
    CHECK(*record.value ==
          R"({"data":{"app":"my-app","bridge":"fcm","token":"a-token","ttl":60},)"
          R"("datacontenttype":"application/json","id":"the-message-id","source":"node",)"
          R"("specversion":"1.0","subject":"11112222-3333-4444-5555-666677778888",)"
          R"("type":"beckon.message.bridged.v1"})");
    CHECK(is_bridged(kId));
    CHECK_FALSE(is_bridged("dlv_abc"));
}

TEST_CASE("a record that is no bridged message says why") {
    const auto good = *encode(empty_message()).value;
    CHECK(why(kId, kClient, good) == "(parsed)");
    CHECK(why("dlv_1", kClient, good) == "a bridged message without client");
    CHECK(why("msg_1", kClient, good) == "a bridged message without client");
    CHECK(why(kId, "x", good) == "a bridged message without client");
    for (const auto* event : {"", "[]", "{}", R"({"type":"beckon.message.bridged.v1"})"}) {
        CHECK(why(kId, kClient, event) == "the event is no bridged message");
    }
    const auto without = [&](const std::string& what, const std::string& with) {
        auto text = good;
        text.replace(text.find(what), what.size(), with);
        return why(kId, kClient, text);
    };
    CHECK(without("11112222-", "") == "a bridged message without channel");
    CHECK(without("fcm", "webpush") == "a bridged message without bridge, app or token");
    CHECK(without("a-token", "") == "a bridged message without bridge, app or token");
    for (const auto* ttl : {"-1", "1.5", "4294967296", "4294967356"}) {
        CHECK(without("60", ttl) == "a bridged message without TTL");
    }
    CHECK(without("\"ttl\"", "\"body\":\"?\",\"ttl\"") == "a bridged message with a broken body");
}

TEST_CASE("a recipient is what the client registered") {
    CHECK(recipient_of(core::RouterType::fcm, R"({"token":"t","app_id":"a"})") ==
          Recipient{.type = core::RouterType::fcm, .app = "a", .token = "t"});
    CHECK(recipient_of(core::RouterType::apns,
                       R"({"token":"t","rel_channel":"r","aps":{"badge":1}})") ==
          Recipient{
              .type = core::RouterType::apns, .app = "r", .token = "t", .aps = R"({"badge":1})"});
    for (const auto* data : {"", "[]", "{}", R"({"token":"t"})", R"({"app_id":"a"})",
                             R"({"token":"","app_id":"a"})", R"({"token":1,"app_id":"a"})"}) {
        CAPTURE(data);
        REQUIRE_FALSE(recipient_of(core::RouterType::fcm, data));
        CHECK(recipient_of(core::RouterType::fcm, data).error().fault == core::Fault::not_found);
    }
}

TEST_CASE("FCM gets the message as a data map of text") {
    CHECK(fcm_body(full_message(), 60s) ==
          R"({"message":{"android":{"data":{"body":"AP9ib2R5",)"
          R"("chid":"11112222-3333-4444-5555-666677778888","con":"aesgcm","cryptokey":"dh=def",)"
          R"("enc":"salt=abc","rid":"rid-1"},"ttl":"60s"},"token":"a-token"}})");
    CHECK(fcm_body(empty_message(), 61s) ==
          R"({"message":{"android":{"data":{"chid":"11112222-3333-4444-5555-666677778888"},)"
          R"("ttl":"61s"},"token":"a-token"}})");
}

TEST_CASE("FCM's TTL is within what it allows") {
    const auto ttl = [](std::chrono::seconds left) {
        const auto body = fcm_body(empty_message(), left);
        const auto at = body.find("\"ttl\":\"") + 7;
        return body.substr(at, body.find('"', at) - at);
    };
    CHECK(ttl(-5s) == "60s");
    CHECK(ttl(59s) == "60s");
    CHECK(ttl(2'592'000s) == "2419200s");
}

TEST_CASE("APNs gets data beside aps, ours or the client's own") {
    CHECK(apns_body(for_apns(full_message())) ==
          R"({"aps":{"alert":{"loc-key":"SentTab.NoTabArrivingNotification.body",)"
          R"("title-loc-key":"SentTab.NoTabArrivingNotification.title"},"mutable-content":1},)"
          R"("body":"AP9ib2R5","chid":"11112222-3333-4444-5555-666677778888","con":"aesgcm",)"
          R"("cryptokey":"dh=def","enc":"salt=abc","rid":"rid-1","ver":"the-message-id"})");
    CHECK(apns_body(for_apns(empty_message(), R"({"badge":1})")) ==
          R"({"aps":{"badge":1},"chid":"11112222-3333-4444-5555-666677778888",)"
          R"("ver":"the-message-id"})");
}

TEST_CASE("a payload of 4096 bytes fits and one more does not") {
    const auto with_body = [](BridgedMessage message, std::size_t bytes) {
        message.body = std::string(bytes, 'x');
        return message;
    };
    const auto largest = [&](const BridgedMessage& message) {
        std::size_t bytes = 1;
        while (fits(with_body(message, bytes + 1))) ++bytes;
        return bytes;
    };
    CHECK(fits(empty_message()));
    // {"body":"…","chid":"…"} has 57 bytes beside the body, which leaves 4,039 for its base64url.
    CHECK(largest(empty_message()) == 3'029);
    const auto apns = largest(for_apns(empty_message()));
    CHECK(apns_body(with_body(for_apns(empty_message()), apns)).size() <= 4'096);
    CHECK(apns_body(with_body(for_apns(empty_message()), apns + 1)).size() > 4'096);
}
