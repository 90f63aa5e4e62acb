#include "tools/subscriptions/subscriptions_tool.hpp"

#include "app/exit_codes.hpp"
#include "records/client_gone.hpp"
#include "records/events.hpp"
#include "support/publish.hpp"
#include "tools/new_installation.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::app;
using namespace beckon::tools;
using namespace beckon::test;
using Catch::Contains;

// An installation moves here: its keys and its clients come along.

namespace {

const std::string kFernetA = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const std::string kFernetB = "HwECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const core::Uaid kUaid{*core::parse_uuid("0f1e2d3c4b5a49788796a5b4c3d2e1f0")};
const core::ChannelId kChannel{*core::parse_uuid("11112222333344445555666677778888")};

constexpr const char* kClient = R"({"uaid":"0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0",)"
                                R"("channelIDs":["11112222333344445555666677778888"]})";

/// The exit code.
int import_clients(const NewInstallation& home, const std::string& lines,
                   ImportOptions options = {}) {
    options.file = (home.dir / "clients.jsonl").string();
    std::ofstream{options.file} << lines;
    return subscriptions_import(home.config, options);
}

std::string header_of(const core::Record& record, std::string_view name) {
    for (const auto& header : record.headers) {
        if (header.name == name) return header.value;
    }
    return {};
}

/// As the client's home writes it.
void publish(const NewInstallation& home, const core::Record& record,
             log::Topic topic = log::Topic::kSubscriptions) {
    Installation installation{home.config};
    const auto partition = core::partition_of(kUaid, installation.control().partitions);
    test::publish(installation.log(), {topic, partition}, record);
}

}  // namespace

TEST_CASE("imported keys come before the ring's own, and a second import changes nothing") {
    NewInstallation home;
    const auto own = home.ring();
    keys_import(home.config, {.crypto_keys = "[" + kFernetA + "]", .auth_keys = "[\"one\", two]"});
    keys_import(home.config, {.crypto_keys = "[" + kFernetB + "," + kFernetA + "]"});
    const auto ring = home.ring();
    CHECK(ring.crypto_keys() == std::vector{kFernetB, kFernetA});
    CHECK(ring.auth_keys() == std::vector<std::string>{"one", "two", own.auth_keys()[0]});
    CHECK(ring.keys().size() == own.keys().size());
    keys_import(home.config, {.crypto_keys = "[" + kFernetB + "]"});
    CHECK(home.ring().fingerprint() == ring.fingerprint());
    CHECK_THAT(home.quiet.output(), Contains(ring.fingerprint()));
    CHECK_THAT(home.quiet.output(), !Contains(kFernetA));
}

TEST_CASE("malformed keys change nothing and are not shown") {
    NewInstallation home;
    const auto before = home.ring().fingerprint();
    CHECK_THROWS_WITH(keys_import(home.config, {}), Contains("--crypto-keys"));
    CHECK_THROWS_WITH(keys_import(home.config, {.crypto_keys = kFernetA}),
                      Contains("square brackets") && !Contains(kFernetA));
    CHECK_THROWS_WITH(keys_import(home.config, {.crypto_keys = "[c2hvcnQ=]"}),
                      Contains("--crypto-keys: key 1") && !Contains("c2hvcnQ="));
    CHECK(home.ring().fingerprint() == before);
}

TEST_CASE("imported clients stand in the log with their channels") {
    NewInstallation home;
    const auto seen = std::chrono::floor<std::chrono::seconds>(core::SystemClock{}.wall()) -
                      std::chrono::hours{24};
    const auto line = R"({"uaid":"0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0",)"
                      R"("channelIDs":["11112222333344445555666677778888"],"last_seen":)" +
                      std::to_string(seen.time_since_epoch().count()) + "}";
    CHECK(import_clients(home, line + "\n\n") == 0);
    CHECK_THAT(home.quiet.output(), Contains("imported 1 clients with 1 channels"));

    const auto records = home.subscriptions_of(kUaid);
    REQUIRE(records.size() == 2);
    core::ClientRecorded client;
    client.uaid = kUaid;
    client.created = client.last_seen = seen;
    client.stamp = core::WriteStamp{.epoch = 0, .seq = 1};  // older than any home's
    CHECK(records[0] == core::encode(client));
    core::ChannelRecorded channel;
    channel.uaid = kUaid;
    channel.channel = kChannel;
    channel.created = client.created;
    channel.stamp = client.stamp;
    CHECK(records[1] == core::encode(channel));
}

TEST_CASE("a second import changes nothing, and says so; a new channel is completed") {
    NewInstallation home;
    REQUIRE(import_clients(home, kClient) == 0);
    REQUIRE(import_clients(home, kClient) == 0);
    CHECK(home.subscriptions_of(kUaid).size() == 2);
    CHECK_THAT(home.quiet.output(),
               Contains("imported 0 clients with 0 channels") && Contains("unchanged: 1 clients"));
    REQUIRE(import_clients(home, R"({"uaid":"0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0","channelIDs":)"
                                 R"(["11112222333344445555666677778888",)"
                                 R"("22222222333344445555666677778888"]})") == 0);
    CHECK(home.subscriptions_of(kUaid).size() == 3);
    CHECK_THAT(home.quiet.output(),
               Contains("had been there without these channels: 1 clients with 1 channels"));
}

TEST_CASE("a dry run writes nothing and says what an import would do") {
    NewInstallation home;
    CHECK(import_clients(home, kClient, {.dry_run = true}) == 0);
    CHECK(home.subscriptions_of(kUaid).empty());
    CHECK_THAT(home.quiet.output(), Contains("would import 1 clients with 1 channels"));
}

TEST_CASE("clients that their home would remove are left out, unless they count as seen now") {
    NewInstallation home;
    const auto old =
        R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[],"last_seen":1700000000})";
    CHECK(import_clients(home, old) == 0);
    CHECK(home.subscriptions_of(kUaid).empty());
    CHECK_THAT(home.quiet.output(), Contains("too old: 1 clients, not seen for more than 60 days"));
    CHECK(import_clients(home, old, {.seen_now = true}) == 0);
    CHECK(home.subscriptions_of(kUaid).size() == 1);
}

TEST_CASE("a client that was removed comes back by an import, above its removal") {
    NewInstallation home;
    REQUIRE(import_clients(home, kClient) == 0);
    publish(home,
            core::encode(core::ClientRemoved{.uaid = kUaid, .stamp = core::WriteStamp{3, 7}}));
    publish(home, core::encode(core::ChannelRemoved{
                      .uaid = kUaid, .channel = kChannel, .stamp = core::WriteStamp{3, 9}}));
    REQUIRE(import_clients(home, kClient) == 0);
    CHECK_THAT(home.quiet.output(),
               Contains("of these had been removed: 1 clients with 1 channels"));
    const auto records = home.subscriptions_of(kUaid);
    REQUIRE(records.size() == 6);
    CHECK(header_of(records[4], core::header::kEpoch) == "3");
    CHECK(header_of(records[4], core::header::kSeq) == "8");
    CHECK(header_of(records[5], core::header::kEpoch) == "3");
    CHECK(header_of(records[5], core::header::kSeq) == "10");
}

TEST_CASE("a client that was seen in the future counts as seen now") {
    NewInstallation home;
    CHECK(import_clients(home, R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[],)"
                               R"("last_seen":4294967295})") == 0);
    const auto records = home.subscriptions_of(kUaid);
    REQUIRE(records.size() == 1);
    CHECK_THAT(*records[0].value, !Contains("4294967295000"));
}

TEST_CASE("a bridged client keeps its token") {
    NewInstallation home;
    CHECK(import_clients(home,
                         R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[],)"
                         R"("router_type":"fcm","router_data":{"token":"t","app_id":"a"}})") == 0);
    const auto records = home.subscriptions_of(kUaid);
    REQUIRE(records.size() == 1);
    CHECK_THAT(*records[0].value, Contains(R"("router_data":{"app_id":"a","token":"t"})"));
    CHECK_THAT(*records[0].value, Contains(R"("router_type":"fcm")"));
}

TEST_CASE("a line that is no client is named, and all others are imported") {
    const std::string good = R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[]})";
    const std::vector<std::pair<std::string, std::string>> rows{
        {"nonsense", "not a JSON object"},
        {"[]", "not a JSON object"},
        {R"({"channelIDs":[]})", "uaid must be a UUID"},
        {R"({"uaid":7,"channelIDs":[]})", "uaid must be a UUID"},
        {R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0"})", "channelIDs must be a list of UUIDs"},
        {R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":["x"]})",
         "channelIDs must be a list of UUIDs"},
        {R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[],"last_seen":-1})",
         "last_seen must be seconds since 1970"},
        {R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[],"router_type":"gcm"})",
         "router_type must be webpush, fcm, apns or webhook"},
        {R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[],"router_type":"fcm"})",
         "router_data must be an object"},
        {R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[],"router_data":{}})",
         "router_data is not for webpush clients"},
        {R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channels":[]})",
         "unknown member \"channels\"; allowed are uaid"},
        {R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[],"router_type":"fcm",)"
         R"("router_data":{"token":)" +
             std::string(200'000, '[') + std::string(200'000, ']') + "}}",
         "nested too deeply: 16 levels are allowed"},
        {R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[],"router_type":"fcm",)"
         R"("router_data":{"token":")" +
             std::string(17'000, 't') + R"("}})",
         "router_data must have at most 16,384 bytes"},
    };
    for (const auto& [line, fault] : rows) {
        CAPTURE(line);
        NewInstallation home;
        CHECK(import_clients(home, line + "\n" + good) == 1);
        CHECK_THAT(home.quiet.errors(), Contains("clients.jsonl:1: " + fault));
        CHECK_THAT(home.quiet.output(), Contains("refused: 1 lines"));
        CHECK(home.subscriptions_of(kUaid).size() == 1);
    }
    NewInstallation home;
    std::string many;
    for (int i = 0; i < 25; ++i) many += "nonsense\n";
    CHECK(import_clients(home, many) == 1);
    const auto errors = home.quiet.errors();
    CHECK(std::count(errors.begin(), errors.end(), '\n') == 20);
    CHECK_THROWS_WITH(subscriptions_import(home.config, {.file = "/nowhere/clients"}),
                      Contains("/nowhere"));
}

namespace {

std::string exported(const NewInstallation& home, bool messages = false) {
    std::ostringstream out;
    CHECK(subscriptions_export(home.config, {.messages = messages}, out) == kDone);
    return out.str();
}

}  // namespace

TEST_CASE("an export is imported as it is, and exported again as it was") {
    NewInstallation home;
    const std::string hash(64, 'c');
    const auto now =
        std::to_string(std::chrono::floor<std::chrono::seconds>(core::SystemClock{}.wall())
                           .time_since_epoch()
                           .count() -
                       60);
    REQUIRE(import_clients(
                home, R"({"uaid":"0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0","channelIDs":[)"
                      R"("11112222-3333-4444-5555-666677778888",)"
                      R"("21112222-3333-4444-5555-666677778888"],"last_seen":)" +
                          now + R"(,"vapid_sha256":{"11112222-3333-4444-5555-666677778888":")" +
                          hash +
                          R"("}})"
                          "\n"
                          R"({"uaid":"5b2e1c7d8f904a3bb6d1e0f2a3c4b5d6","channelIDs":[],)"
                          R"("router_type":"fcm","router_data":{"app_id":"a","token":"t-1"},)"
                          R"("last_seen":)" +
                          now + "}\n") == kDone);
    const auto first = exported(home);
    CHECK(std::count(first.begin(), first.end(), '\n') == 2);
    CHECK_THAT(first, Contains(R"("vapid_sha256":{"11112222-3333-4444-5555-666677778888":")" +
                               hash + R"("})"));
    CHECK_THAT(first, Contains(R"("router_data":{"app_id":"a","token":"t-1"})"));
    NewInstallation other;
    REQUIRE(import_clients(other, first) == kDone);
    CHECK(exported(other) == first);
}

TEST_CASE("an export leaves removed clients out, and has what waits on request") {
    NewInstallation home;
    REQUIRE(import_clients(home, kClient) == kDone);
    core::NotificationAccepted put;
    put.uaid = kUaid;
    put.key = core::new_message_key(core::SystemClock{}.wall());
    put.message_id = "id";
    put.channel = kChannel;
    put.ttl_s = 3'600;
    put.topic = "news";
    put.source = "endpoint-1";
    put.body = "body";
    publish(home, core::encode(put), log::Topic::kNotifications);
    CHECK_THAT(exported(home), !Contains("messages"));
    const auto all = exported(home, true);
    CHECK_THAT(all, Contains(R"("topic":"news")") && Contains(R"("body":"Ym9keQ")"));
    NewInstallation other;
    CHECK(import_clients(other, all) == kDone);  // which passes the messages over
    publish(home, core::encode(core::ClientRemoved{
                      .uaid = kUaid, .stamp = core::WriteStamp{.epoch = 9, .seq = 9}}));
    CHECK(exported(home, true).empty());
}

TEST_CASE("a VAPID key of a line is 64 hex digits for one of its channels") {
    NewInstallation home;
    for (const auto* keys : {"[]", R"({"x":"y"})", R"({"11112222333344445555666677778888":1})",
                             R"({"11112222333344445555666677778888":"ab"})"}) {
        CAPTURE(keys);
        CHECK(import_clients(home, std::string{R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0",)"
                                               R"("channelIDs":[],"vapid_sha256":)"} +
                                       keys + "}") == kFailed);
    }
    CHECK_THAT(home.quiet.errors(), Contains("vapid_sha256 must"));
}

TEST_CASE("what the log has of a client is counted until tombstones alone are left") {
    NewInstallation home;
    REQUIRE(import_clients(home, kClient) == kDone);
    const auto left = [&] {
        auto config = home.config;
        Installation installation{config};
        const auto found = left_in_log(installation.log(), kUaid, installation.control().partitions,
                                       std::chrono::seconds{5});
        REQUIRE(found);
        return *found;
    };
    CHECK(left().subscription == 2);
    CHECK(left().all() == 2);
    publish(home,
            core::encode(core::ClientGone{.uaid = kUaid, .token_hash = std::string(64, 'd')}));
    const core::WriteStamp last{.epoch = 9, .seq = 9};
    publish(home, core::encode(core::ClientRemoved{.uaid = kUaid, .stamp = last}));
    publish(home,
            core::encode(core::ChannelRemoved{.uaid = kUaid, .channel = kChannel, .stamp = last}));
    CHECK(left().all() == 0);
    CHECK(left().dead_tokens == 1);
}

TEST_CASE("a client is not removed without --yes, nor without its home") {
    NewInstallation home;
    CHECK(subscriptions_remove(home.config, core::to_hex(kUaid), false) == kNothingFound);
    REQUIRE(import_clients(home, kClient) == kDone);
    CHECK(subscriptions_remove(home.config, core::to_hex(kUaid), false) == kDone);
    home.config.ops.port = 1;  // where nobody listens
    CHECK_THROWS_WITH(subscriptions_remove(home.config, core::to_hex(kUaid), true),
                      Contains("it was not removed: no edge that answers"));
    CHECK_THAT(exported(home), Contains("0f1e2d3c"));
}
