#include "tools/subscriptions/subscriptions_tool.hpp"

#include "records/events.hpp"
#include "tools/new_installation.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
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
void publish(const NewInstallation& home, const core::Record& record) {
    auto config = home.config;
    Installation installation{config};
    log::BlockingExecutor executor;
    const auto publisher = installation.log().open_publisher(executor);
    bool done = false;
    publisher->publish(
        {log::Topic::kSubscriptions, core::partition_of(kUaid, installation.control().partitions)},
        record, [&](const auto& appended) { done = appended.has_value(); });
    REQUIRE(executor.wait_until([&] { return done; },
                                core::SystemClock{}.mono() + std::chrono::seconds{10}));
}

}  // namespace

TEST_CASE("imported keys come before the ring's own, and a second import changes nothing",
          "[move]") {
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

TEST_CASE("malformed keys change nothing and are not shown", "[move]") {
    NewInstallation home;
    const auto before = home.ring().fingerprint();
    CHECK_THROWS_WITH(keys_import(home.config, {}), Contains("--crypto-keys"));
    CHECK_THROWS_WITH(keys_import(home.config, {.crypto_keys = kFernetA}),
                      Contains("square brackets") && !Contains(kFernetA));
    CHECK_THROWS_WITH(keys_import(home.config, {.crypto_keys = "[c2hvcnQ=]"}),
                      Contains("--crypto-keys: key 1") && !Contains("c2hvcnQ="));
    CHECK(home.ring().fingerprint() == before);
}

TEST_CASE("imported clients stand in the log with their channels", "[move]") {
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

TEST_CASE("a second import changes nothing, and says so; a new channel is completed", "[move]") {
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

TEST_CASE("a dry run writes nothing and says what an import would do", "[move]") {
    NewInstallation home;
    CHECK(import_clients(home, kClient, {.dry_run = true}) == 0);
    CHECK(home.subscriptions_of(kUaid).empty());
    CHECK_THAT(home.quiet.output(), Contains("would import 1 clients with 1 channels"));
}

TEST_CASE("clients that their home would remove are left out, unless they count as seen now",
          "[move]") {
    NewInstallation home;
    const auto old =
        R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[],"last_seen":1700000000})";
    CHECK(import_clients(home, old) == 0);
    CHECK(home.subscriptions_of(kUaid).empty());
    CHECK_THAT(home.quiet.output(), Contains("too old: 1 clients, not seen for more than 60 days"));
    CHECK(import_clients(home, old, {.seen_now = true}) == 0);
    CHECK(home.subscriptions_of(kUaid).size() == 1);
}

TEST_CASE("a client that was removed comes back by an import, above its removal", "[move]") {
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

TEST_CASE("a client that was seen in the future counts as seen now", "[move]") {
    NewInstallation home;
    CHECK(import_clients(home, R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[],)"
                               R"("last_seen":4294967295})") == 0);
    const auto records = home.subscriptions_of(kUaid);
    REQUIRE(records.size() == 1);
    CHECK_THAT(*records[0].value, !Contains("4294967295000"));
}

TEST_CASE("a bridged client keeps its token", "[move]") {
    NewInstallation home;
    CHECK(import_clients(home,
                         R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[],)"
                         R"("router_type":"fcm","router_data":{"token":"t","app_id":"a"}})") == 0);
    const auto records = home.subscriptions_of(kUaid);
    REQUIRE(records.size() == 1);
    CHECK_THAT(*records[0].value, Contains(R"("router_data":{"app_id":"a","token":"t"})"));
    CHECK_THAT(*records[0].value, Contains(R"("router_type":"fcm")"));
}

TEST_CASE("a line that is no client is named, and all others are imported", "[move]") {
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
