#include "tools/subscriptions/subscriptions_tool.hpp"

#include "core/codec.hpp"
#include "tools/new_installation.hpp"

#include <fstream>

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

std::string import_clients(const NewInstallation& home, const std::string& lines) {
    const auto file = home.dir / "clients.jsonl";
    std::ofstream{file} << lines;
    try {
        const int code = subscriptions_import(home.config, file.string());
        return code == 0 ? "" : "exit code " + std::to_string(code);
    } catch (const StartupError& error) {
        return error.what();
    }
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
    const auto line =
        R"({"uaid":"0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0",)"
        R"("channelIDs":["11112222333344445555666677778888"],"last_seen":1700000000})";
    CHECK(import_clients(home, std::string{line} + "\n\n") == "");
    CHECK_THAT(home.quiet.output(), Contains("imported 1 clients with 1 channels"));

    const auto records = home.subscriptions_of(kUaid);
    REQUIRE(records.size() == 2);
    core::ClientRecorded client;
    client.uaid = kUaid;
    client.created = client.last_seen = core::Timestamp{std::chrono::seconds{1'700'000'000}};
    client.stamp = core::WriteStamp{.epoch = 0, .seq = 1};  // older than any home's
    CHECK(records[0] == core::encode(client));
    core::ChannelRecorded channel;
    channel.uaid = kUaid;
    channel.channel = kChannel;
    channel.created = client.created;
    channel.stamp = client.stamp;
    CHECK(records[1] == core::encode(channel));
}

TEST_CASE("a bridged client keeps its token", "[move]") {
    NewInstallation home;
    CHECK(import_clients(home,
                         R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0","channelIDs":[],)"
                         R"("router_type":"fcm","router_data":{"token":"t","app_id":"a"}})") == "");
    const auto records = home.subscriptions_of(kUaid);
    REQUIRE(records.size() == 1);
    CHECK_THAT(*records[0].value, Contains(R"("router_data":{"app_id":"a","token":"t"})"));
    CHECK_THAT(*records[0].value, Contains(R"("router_type":"fcm")"));
}

TEST_CASE("a line that is no client is named; those before it are imported", "[move]") {
    NewInstallation home;
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
    };
    for (const auto& [line, fault] : rows) {
        CAPTURE(line);
        CHECK_THAT(import_clients(home, good + "\n" + line + "\n" + good),
                   Contains("clients.jsonl:2: " + fault));
    }
    CHECK(home.subscriptions_of(kUaid).size() == rows.size());
    CHECK_THROWS_WITH(subscriptions_import(home.config, "/nowhere/clients"), Contains("/nowhere"));
}
