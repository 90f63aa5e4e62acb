#include "records/events.hpp"

#include "records/random_events.hpp"
#include "support/record_view.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::core;

namespace {
std::atomic<std::size_t> g_allocations{0};
}

// Counts what this test binary allocates: the hot path promises not to. ThreadSanitizer brings
// operators of its own, beside which no others can be linked.
#ifndef BECKON_THREAD_SANITIZER
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    g_allocations.fetch_add(1, std::memory_order_relaxed);
    return std::malloc(size);
}
void* operator new(std::size_t size) {
    if (void* p = operator new(size, std::nothrow)) return p;
    throw std::bad_alloc{};
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
#endif

namespace {

const Uaid kUaid{*parse_hex16("0f1e2d3c4b5a49788796a5b4c3d2e1f0")};
const ChannelId kChannel{*parse_hex16("11112222333344445555666677778888")};
const MessageKey kKey{*parse_hex16("0192f0c1a2b37abc8def0123456789ab")};
constexpr auto kMessageLogKey = "0f1e2d3c4b5a49788796a5b4c3d2e1f0/0192f0c1a2b37abc8def0123456789ab";
constexpr auto kClientLogKey = "0f1e2d3c4b5a49788796a5b4c3d2e1f0";
constexpr auto kChannelLogKey =
    "0f1e2d3c4b5a49788796a5b4c3d2e1f0/11112222-3333-4444-5555-666677778888";

Timestamp at_ms(std::int64_t ms) { return Timestamp{std::chrono::milliseconds{ms}}; }

/// Decodes with a scratch of its own and hands the event over while everything it points to lives.
template <class Check>
void with_notification(const Record& record, Check check) {
    const test::ReadBack read{record};
    DecodeScratch scratch;
    check(decode_notification(*read, scratch));
}
template <class Check>
void with_subscription(const Record& record, Check check) {
    const test::ReadBack read{record};
    DecodeScratch scratch;
    check(decode_subscription(*read, scratch));
}
std::string why_notification(const Record& record) {
    std::string why = "(decoded)";
    with_notification(record, [&](const NotificationsEvent& event) {
        if (const auto* unknown = std::get_if<Unknown>(&event)) why = unknown->why;
    });
    return why;
}
std::string why_subscription(const Record& record) {
    std::string why = "(decoded)";
    with_subscription(record, [&](const SubscriptionsEvent& event) {
        if (const auto* unknown = std::get_if<Unknown>(&event)) why = unknown->why;
    });
    return why;
}

NotificationAccepted full_message() {
    return {.uaid = kUaid,
            .key = kKey,
            .message_id = "AmessageId",
            .channel = kChannel,
            .ttl_s = 2'419'200,
            .topic = "Inbox",
            .urgency = Urgency::very_low,
            .encoding = "aesgcm",
            .encryption = "salt=abc",
            .crypto_key = "dh=def",
            .reliability_id = "r1",
            .traceparent = "00-1-2-01",
            .source = "0123456789abcdef",
            .body = std::string_view{"\0\xff body", 7}};
}

Record with_header(Record record, std::string_view name, std::optional<std::string> value) {
    std::erase_if(record.headers, [&](const Header& h) { return h.name == name; });
    if (value) record.headers.push_back({name, std::move(*value)});
    return record;
}
Record with_key(Record record, std::string key) {
    record.key = std::move(key);
    return record;
}
Record with_value(Record record, std::optional<std::string> value) {
    record.value = std::move(value);
    return record;
}

}  // namespace

// ------------------------------------------------------------------------- what is written

TEST_CASE("an accepted message: key, CloudEvents headers, the body as it is") {
    const Record expected{.key = kMessageLogKey,
                          .value = std::string{"\0\xff body", 7},
                          .headers = {{"ce_specversion", "1.0"},
                                      {"ce_type", "beckon.notification.accepted.v1"},
                                      {"ce_id", "AmessageId"},
                                      {"ce_source", "0123456789abcdef"},
                                      {"ce_subject", "11112222-3333-4444-5555-666677778888"},
                                      {"ce_ttl", "2419200"},
                                      {"ce_topic", "Inbox"},
                                      {"ce_urgency", "very-low"},
                                      {"ce_encoding", "aesgcm"},
                                      {"ce_encryption", "salt=abc"},
                                      {"ce_cryptokey", "dh=def"},
                                      {"ce_reliabilityid", "r1"},
                                      {"traceparent", "00-1-2-01"}}};
    CHECK(encode(full_message()) == expected);
}

TEST_CASE("a message without extras has six headers, and an empty body is not null") {
    const auto record = encode(NotificationAccepted{
        .uaid = kUaid, .key = kKey, .message_id = "id", .channel = kChannel, .source = "n"});
    CHECK(record.headers.size() == 6);
    CHECK(record.value == std::string{});
}

TEST_CASE("a finished message is a tombstone of its key") {
    const Record expected{.key = kMessageLogKey,
                          .value = std::nullopt,
                          .headers = {{"ce_type", "beckon.notification.finished.v1"},
                                      {"ce_reason", "expired"},
                                      {"ce_source", "n1"}}};
    CHECK(encode(NotificationFinished{kUaid, kKey, FinishReason::expired, "n1"}) == expected);
}

TEST_CASE("client and channel records are JSON with times in milliseconds") {
    const Record client{
        .key = kClientLogKey,
        .value = R"({"created":1,"last_seen":2,"router_data":{"token":"x"},"router_type":"fcm"})",
        .headers = {{"ce_specversion", "1.0"},
                    {"ce_type", "beckon.client.v1"},
                    {"content-type", "application/json"}}};
    CHECK(encode(ClientRecorded{.uaid = kUaid,
                                .router_type = RouterType::fcm,
                                .router_data = R"({"token": "x"})",
                                .created = at_ms(1),
                                .last_seen = at_ms(2)}) == client);

    const std::string sha(64, 'a');
    const Record channel{.key = kChannelLogKey,
                         .value = R"({"created":3,"vapid_sha256":")" + sha + R"("})",
                         .headers = {{"ce_specversion", "1.0"},
                                     {"ce_type", "beckon.channel.v1"},
                                     {"content-type", "application/json"},
                                     {"ce_epoch", "7"},
                                     {"ce_seq", "8"}}};
    CHECK(encode(ChannelRecorded{.uaid = kUaid,
                                 .channel = kChannel,
                                 .created = at_ms(3),
                                 .vapid_sha256 = sha,
                                 .stamp = WriteStamp{7, 8}}) == channel);
}

TEST_CASE("their tombstones carry the stamp and no value") {
    const Record client{.key = kClientLogKey,
                        .value = std::nullopt,
                        .headers = {{"ce_specversion", "1.0"},
                                    {"ce_type", "beckon.client.v1"},
                                    {"ce_epoch", "7"},
                                    {"ce_seq", "9"}}};
    CHECK(encode(ClientRemoved{kUaid, WriteStamp{7, 9}}) == client);
    const Record channel{.key = kChannelLogKey,
                         .value = std::nullopt,
                         .headers = {{"ce_specversion", "1.0"}, {"ce_type", "beckon.channel.v1"}}};
    CHECK(encode(ChannelRemoved{kUaid, kChannel, std::nullopt}) == channel);
}

TEST_CASE("read barriers and leases have keys of their own") {
    const Record barrier{.key = "!barrier/n1",
                         .value = std::nullopt,
                         .headers = {{"ce_type", "beckon.barrier.v1"}, {"node", "n1"}}};
    CHECK(encode(BarrierRecord{"n1"}) == barrier);

    const Record lease{.key = "!lease/00000000000000000042/n1",
                       .value = R"({"epoch":42,"node":"n1","role":"edge"})",
                       .headers = {{"ce_specversion", "1.0"},
                                   {"ce_type", "beckon.lease.v1"},
                                   {"content-type", "application/json"}}};
    CHECK(encode(Lease{.epoch = 42, .node = "n1", .role = "edge"}) == lease);
    const auto removed = encode(Lease{.epoch = ~Epoch{0}, .node = "n1", .removed = true});
    CHECK(removed.key == "!lease/18446744073709551615/n1");
    CHECK_FALSE(removed.value);
}

// ------------------------------------------------------------------------------ properties

TEST_CASE("an encoded event decodes to the same event") {
    const auto seed = GENERATE(range(0U, 300U));
    CAPTURE(seed);
    test::RandomEvents make{seed};
    const auto notification = [](const auto& event) {
        with_notification(encode(event),
                          [&](const auto& read) { CHECK(read == NotificationsEvent{event}); });
    };
    const auto subscription = [](const auto& event) {
        with_subscription(encode(event),
                          [&](const auto& read) { CHECK(read == SubscriptionsEvent{event}); });
    };
    notification(make.accepted());
    notification(make.finished());
    notification(make.barrier());
    notification(make.lease());
    subscription(make.client());
    subscription(make.client_removed());
    subscription(make.channel());
    subscription(make.channel_removed());
    subscription(make.barrier());
    subscription(make.lease());
}

TEST_CASE("decoding a message or its tombstone allocates nothing") {
    const auto accepted = encode(full_message());
    const auto finished = encode(NotificationFinished{kUaid, kKey, FinishReason::acked, "n"});
    const test::ReadBack read_accepted{accepted};
    const test::ReadBack read_finished{finished};
    DecodeScratch scratch;
    const auto before = g_allocations.load();
    const auto first = decode_notification(*read_accepted, scratch);
    const auto second = decode_notification(*read_finished, scratch);
    CHECK(g_allocations.load() == before);
    CHECK(std::holds_alternative<NotificationAccepted>(first));
    CHECK(std::holds_alternative<NotificationFinished>(second));
}

// ------------------------------------------------------------------------- what is required

TEST_CASE("a message needs id, channel and TTL, and nothing else") {
    Record record{
        .key = kMessageLogKey,
        .value = "body",
        .headers = {
            {header::kId, "id"}, {header::kSubject, to_dashed(kChannel)}, {header::kTtl, "0"}}};
    with_notification(record, [](const NotificationsEvent& event) {
        CHECK(event == NotificationsEvent{NotificationAccepted{.uaid = kUaid,
                                                               .key = kKey,
                                                               .message_id = "id",
                                                               .channel = kChannel,
                                                               .body = "body"}});
    });
}

TEST_CASE("headers that Beckon does not know are passed over, the first of a name counts") {
    auto record = encode(full_message());
    record.headers.push_back({"ce_ttl", "7"});
    record.headers.push_back({"x_ttl_", "7"});
    record.headers.push_back({"", ""});
    with_notification(record, [](const NotificationsEvent& event) {
        CHECK(event == NotificationsEvent{full_message()});
    });
}

TEST_CASE("a null value finishes the message whatever its headers say") {
    const auto tombstone = encode(NotificationFinished{kUaid, kKey, FinishReason::acked, "n"});
    const NotificationsEvent other{NotificationFinished{kUaid, kKey, FinishReason::dropped, "n"}};
    with_notification(with_header(tombstone, header::kReason, "bored"),
                      [&](const auto& event) { CHECK(event == other); });
    with_notification(with_header(tombstone, header::kReason, std::nullopt),
                      [&](const auto& event) { CHECK(event == other); });
    with_notification(with_header(tombstone, header::kType, "other"), [&](const auto& event) {
        CHECK(std::holds_alternative<NotificationFinished>(event));
    });
}

TEST_CASE("each fault of a record in notifications has its reason") {
    const auto good = encode(full_message());
    CHECK(why_notification(good) == "(decoded)");
    const auto header_fault = [&](std::string_view name, std::optional<std::string> value) {
        return why_notification(with_header(good, name, std::move(value)));
    };
    CHECK(header_fault(header::kType, "beckon.notification.accepted.v2") == "unknown event type");
    CHECK(header_fault(header::kId, std::nullopt) == "no ce_id");
    CHECK(header_fault(header::kId, "") == "no ce_id");
    CHECK(header_fault(header::kSubject, std::nullopt) == "no ce_subject");
    CHECK(header_fault(header::kSubject, to_hex(kChannel)) == "ce_subject is not a channel id");
    CHECK(header_fault(header::kTtl, std::nullopt) == "no ce_ttl");
    for (const auto* ttl : {"", "-1", "+1", " 1", "1 ", "1.5", "4294967296", "0x10"}) {
        CAPTURE(ttl);
        CHECK(header_fault(header::kTtl, ttl) == "ce_ttl is not a number of seconds");
    }
    CHECK(header_fault(header::kUrgency, "NORMAL") == "ce_urgency is none of RFC 8030");

    const std::string key = kMessageLogKey;
    for (const auto& bad :
         {std::string{}, key.substr(1), key + "0", key.substr(0, 32) + "-" + key.substr(33),
          "G" + key.substr(1), key.substr(0, 64) + "G", std::string{kClientLogKey}}) {
        CAPTURE(bad);
        CHECK(why_notification(with_key(good, bad)) == "key is not <uaid>/<message key>");
    }
}

TEST_CASE("each fault of a read barrier or a lease has its reason") {
    const auto lease = encode(Lease{.epoch = 42, .node = "n1", .role = "edge"});
    const auto key_fault = [&](std::string key) {
        const auto record = with_key(lease, std::move(key));
        CHECK(why_subscription(record) == why_notification(record));
        return why_notification(record);
    };
    CHECK(key_fault("!") == "unknown control key");
    CHECK(key_fault("!other/n1") == "unknown control key");
    CHECK(key_fault("!barrier/") == "read barrier key has no node");
    CHECK(key_fault("!lease/") == "lease key is not !lease/<20 digits>/<node>");
    CHECK(key_fault("!lease/42/n1") == "lease key is not !lease/<20 digits>/<node>");
    CHECK(key_fault("!lease/00000000000000000042/") ==
          "lease key is not !lease/<20 digits>/<node>");
    CHECK(key_fault("!lease/0000000000000000004x/n1") == "lease key has no epoch");
    CHECK(key_fault("!lease/99999999999999999999/n1") == "lease key has no epoch");
    CHECK(key_fault("!lease/00000000000000000043/n1") == "lease differs from its key");
    CHECK(key_fault("!lease/00000000000000000042/n2") == "lease differs from its key");

    const auto value_fault = [&](std::string value) {
        return why_notification(with_value(lease, std::move(value)));
    };
    CHECK(value_fault("") == "value is not JSON");
    CHECK(value_fault("{\"epoch\":42") == "value is not JSON");
    CHECK(value_fault("[]") == "value is not a JSON object");
    CHECK(value_fault("{}") == "lease lacks epoch, node or role");
    CHECK(value_fault(R"({"epoch":42,"node":1,"role":"edge"})") ==
          "lease lacks epoch, node or role");
    CHECK(value_fault(R"({"epoch":"42","node":"n1","role":"edge"})") ==
          "lease differs from its key");
}

TEST_CASE("each fault of a record in subscriptions has its reason") {
    const auto client = encode(ClientRecorded{.uaid = kUaid, .stamp = WriteStamp{1, 2}});
    const auto channel =
        encode(ChannelRecorded{.uaid = kUaid, .channel = kChannel, .stamp = WriteStamp{1, 2}});
    CHECK(why_subscription(client) == "(decoded)");
    CHECK(why_subscription(channel) == "(decoded)");

    CHECK(why_subscription(with_key(client, "")) == "key does not begin with a uaid");
    CHECK(why_subscription(with_key(client, "0f1e")) == "key does not begin with a uaid");
    CHECK(why_subscription(with_key(client, std::string(32, 'G'))) ==
          "key does not begin with a uaid");
    for (const auto* tail : {"/", "x", "/gone/abcdef", "-11112222-3333-4444-5555-666677778888",
                             "/11112222333344445555666677778888"}) {
        CAPTURE(tail);
        CHECK(why_subscription(with_key(channel, std::string{kClientLogKey} + tail)) ==
              "key is neither <uaid> nor <uaid>/<channel id>");
    }
    CHECK(why_subscription(with_header(client, header::kType, "beckon.client.v2")) ==
          "unknown event type");
    CHECK(why_subscription(with_header(channel, header::kType, "beckon.client.v1")) ==
          "unknown event type");
    for (const auto& record : {client, channel, with_value(client, std::nullopt)}) {
        constexpr auto kWhy = "ce_epoch and ce_seq are not two numbers";
        CHECK(why_subscription(with_header(record, header::kEpoch, std::nullopt)) == kWhy);
        CHECK(why_subscription(with_header(record, header::kSeq, std::nullopt)) == kWhy);
        CHECK(why_subscription(with_header(record, header::kEpoch, "one")) == kWhy);
        CHECK(why_subscription(with_header(record, header::kSeq, "-1")) == kWhy);
    }
}

TEST_CASE("each fault of a client's or channel's value has its reason") {
    const auto client_fault = [](std::string value) {
        return why_subscription(
            with_value(encode(ClientRecorded{.uaid = kUaid}), std::move(value)));
    };
    CHECK(client_fault("") == "value is not JSON");
    CHECK(client_fault("\"\xff\"") == "value is not JSON");
    CHECK(client_fault("7") == "value is not a JSON object");
    CHECK(client_fault(std::string(100'000, '[')) == "value is nested too deep");
    CHECK(
        client_fault(R"({"router_type":"fcm","created":1,"last_seen":1,"router_data":{"token":")" +
                     std::string(100, '{') + std::string(100, '[') + R"("}})") == "(decoded)");
    CHECK(client_fault("{}") == "client has no known router_type");
    CHECK(client_fault(R"({"router_type":"gcm"})") == "client has no known router_type");
    CHECK(client_fault(R"({"router_type":1})") == "client has no known router_type");
    CHECK(client_fault(R"({"router_type":"fcm","created":1})") ==
          "client lacks created or last_seen");
    for (const auto* time : {"-1", "1.5", "\"1\"", "null", "18446744073709551615"}) {
        CAPTURE(time);
        CHECK(client_fault(R"({"router_type":"fcm","last_seen":1,"created":)" + std::string{time} +
                           "}") == "client lacks created or last_seen");
    }
    CHECK(client_fault(R"({"router_type":"fcm","created":1,"last_seen":1,"router_data":"x"})") ==
          "router_data is not a JSON object");
    CHECK(client_fault(R"({"router_type":"fcm","created":1,"last_seen":1,"later":"x"})") ==
          "(decoded)");

    const auto channel_fault = [](std::string value) {
        return why_subscription(with_value(
            encode(ChannelRecorded{.uaid = kUaid, .channel = kChannel}), std::move(value)));
    };
    CHECK(channel_fault("nonsense") == "value is not JSON");
    CHECK(channel_fault("[]") == "value is not a JSON object");
    CHECK(channel_fault("{}") == "channel lacks created");
    for (const auto& sha :
         {std::string{"\"abc\""}, std::string{"5"}, "\"" + std::string(64, 'A') + "\"",
          "\"" + std::string(65, 'a') + "\""}) {
        CAPTURE(sha);
        CHECK(channel_fault(R"({"created":1,"vapid_sha256":)" + sha + "}") ==
              "vapid_sha256 is not 64 hex digits");
    }
}

TEST_CASE("the names of enums are read back") {
    for (const auto urgency : {Urgency::very_low, Urgency::low, Urgency::normal, Urgency::high}) {
        CHECK(parse_urgency(to_string(urgency)) == urgency);
    }
    for (int i = 0; i < 6; ++i) {
        const auto reason = static_cast<FinishReason>(i);
        CHECK(parse_finish_reason(to_string(reason)) == reason);
    }
    for (int i = 0; i < 4; ++i) {
        const auto type = static_cast<RouterType>(i);
        CHECK(parse_router_type(to_string(type)) == type);
    }
    CHECK_FALSE(parse_urgency("very_low"));
    CHECK_FALSE(parse_finish_reason(""));
    CHECK_FALSE(parse_router_type("gcm"));
}

TEST_CASE("keys of read barriers and leases are the ones that folds skip") {
    CHECK(is_control_key(encode(BarrierRecord{"n"}).key));
    CHECK(is_control_key(encode(Lease{.node = "n"}).key));
    CHECK_FALSE(is_control_key(encode(ClientRemoved{kUaid, {}}).key));
}
