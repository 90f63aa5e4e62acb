#include "tools/subscriptions/autopush_dump.hpp"

#include "tools/subscriptions/import_file.hpp"

#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::tools;

// Synthetic dumps, in the forms that autopush-rs 1.83 writes (its redis_client and
// bigtable_client).

namespace {

struct Converted {
    std::vector<std::string> clients;
    std::vector<std::string> refused;
    ConvertedDump counts;
};

Converted convert(DumpForm form, const std::string& dump) {
    Converted out;
    std::istringstream in{dump};
    out.counts = convert_dump(
        form, in, [&](const std::string& line) { out.clients.push_back(line); },
        [&](const std::string& why) { out.refused.push_back(why); });
    return out;
}

const std::string kWebpush =
    R"({"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0",)"
    R"("channelIDs":["11112222-3333-4444-5555-666677778888"],"last_seen":1790000000})";

}  // namespace

TEST_CASE("users of autopush in Redis become lines of an import") {
    const auto done = convert(
        DumpForm::redis,
        R"({"user":"{\"uaid\":\"0f1e2d3c4b5a49788796a5b4c3d2e1f0\",\"connected_at\":1780000000000,)"
        R"(\"router_type\":\"webpush\",\"router_data\":null,\"record_version\":1}",)"
        R"("channels":["11112222-3333-4444-5555-666677778888"],"co":"1790000000123"})"
        "\n\n"
        R"({"user":{"uaid":"5b2e1c7d8f904a3bb6d1e0f2a3c4b5d6","router_type":"fcm",)"
        R"("router_data":{"token":"t","app_id":"a"}},"channels":[]})"
        "\nnonsense\n"
        R"({"user":null,"channels":[]})");
    REQUIRE(done.clients.size() == 2);
    CHECK(done.clients[0] == kWebpush);
    CHECK(done.clients[1] ==
          R"({"uaid":"5b2e1c7d8f904a3bb6d1e0f2a3c4b5d6","channelIDs":[],"router_type":"fcm",)"
          R"("router_data":{"app_id":"a","token":"t"}})");
    for (const auto& line : done.clients) CHECK(parse_client(line));
    REQUIRE(done.refused.size() == 1);
    CHECK(done.refused[0] == "4: no object with a user and its channels");
    CHECK(done.counts.others == 1);
}

TEST_CASE("a channel that autopush lists twice is one channel") {
    // (as autopush-rs 1.83.1 wrote it, and redis-cli 7 printed it)
    const auto done = convert(
        DumpForm::redis,
        R"({"user":"{\"uaid\":\"0543eb68e8b74286ae216453bbf5d925\",\"connected_at\":1795712428275,)"
        R"(\"router_type\":\"webpush\",\"router_data\":null,\"node_id\":\"http://127.0.0.1:24711\",)"
        R"(\"record_version\":1,\"priv_channels\":[]}","channels":["db13d007-8166-49e0-9268-0eaf1a1d1af7",)"
        R"("08d7743b-857a-4b0f-955b-424779e6787f","db13d007-8166-49e0-9268-0eaf1a1d1af7"],)"
        R"("co":"1795712428277"})");
    REQUIRE(done.clients.size() == 1);
    const auto client = parse_client(done.clients[0]);
    REQUIRE(client);
    CHECK(client->channels.size() == 2);
}

TEST_CASE("users of autopush in Bigtable become lines of an import") {
    const auto done =
        convert(DumpForm::bigtable,
                "----------------------------------------\n"
                "0f1e2d3c4b5a49788796a5b4c3d2e1f0\n"
                "  router:chid:11112222-3333-4444-5555-666677778888 @ 2026/11/22-10:00:00.000000\n"
                "    \"\"\n"
                "  router:connected_at                      @ 2026/11/22-10:00:00.000000\n"
                "    \"\\x00\\x00\\x01\\xa0\\xc4Pl\\x00\"\n"
                "  router:connected_at                      @ 2026/11/21-10:00:00.000000\n"
                "    \"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01\"\n"
                "  router:router_type                       @ 2026/11/22-10:00:00.000000\n"
                "    \"webpush\"\n"
                "  router:version                           @ 2026/11/22-10:00:00.000000\n"
                "    \"\\xff\\xfe\\\"\\u00e9\"\n"
                "----------------------------------------\n"
                "0f1e2d3c4b5a49788796a5b4c3d2e1f0#01:1111:news\n"
                "  message_topic:data                       @ 2026/11/22-10:00:00.000000\n"
                "    \"x\"\n"
                "----------------------------------------\n"
                "5b2e1c7d8f904a3bb6d1e0f2a3c4b5d6\n"
                "  router:router_data                       @ 2026/11/22-10:00:00.000000\n"
                "    \"{\\\"token\\\":\\\"t\\\",\\\"app_id\\\":\\\"a\\\"}\"\n"
                "  router:router_type                       @ 2026/11/22-10:00:00.000000\n"
                "    \"fcm\"\n");
    REQUIRE(done.clients.size() == 2);
    CHECK(done.clients[0] == kWebpush);
    CHECK_THAT(done.clients[1], Catch::Contains(R"("router_data":{"app_id":"a","token":"t"})"));
    for (const auto& line : done.clients) CHECK(parse_client(line));
    CHECK(done.counts.others == 1);
    CHECK(done.refused.empty());
}

TEST_CASE("a value that Go has not quoted is refused") {
    CHECK(unquoted("\"a\\n\\x00\\u00e9\\\\\"") == std::string("a\n\0\xc3\xa9\\", 6));
    for (const auto* wrong : {"", "a", "\"", "\"\\\"", "\"\\q\"", "\"\\x1\"", "\"\\u12\""}) {
        CAPTURE(wrong);
        CHECK_FALSE(unquoted(wrong));
    }
    const auto done =
        convert(DumpForm::bigtable,
                "0f1e2d3c4b5a49788796a5b4c3d2e1f0\n  router:router_type @ x\n    webpush\n");
    CHECK(done.clients.empty());
    REQUIRE(done.refused.size() == 1);
    CHECK_THAT(done.refused[0], Catch::StartsWith("1: a row with a value that is not quoted"));
}

TEST_CASE("a dump that is nested without end is refused, with its line") {
    const auto deep = R"({"a":)" + std::string(200'000, '[') + std::string(200'000, ']') + "}";
    const auto redis =
        convert(DumpForm::redis, "\n" + (R"({"user":{"uaid":"0f1e2d3c4b5a49788796a5b4c3d2e1f0",)"
                                         R"("router_type":"fcm","router_data":)" +
                                         deep + R"(},"channels":[]})"));
    CHECK(redis.clients.empty());
    REQUIRE(redis.refused.size() == 1);
    CHECK_THAT(redis.refused[0], Catch::StartsWith("2: "));
    auto quoted = deep;
    for (std::size_t at = 0; (at = quoted.find('"', at)) != quoted.npos; at += 2) {
        quoted.insert(at, 1, '\\');
    }
    const auto table = convert(DumpForm::bigtable,
                               "----\n0f1e2d3c4b5a49788796a5b4c3d2e1f0\n  router:router_type @ x\n"
                               "    \"fcm\"\n  router:router_data @ x\n    \"" +
                                   quoted + "\"\n");
    CHECK(table.clients.empty());
    REQUIRE(table.refused.size() == 1);
    CHECK_THAT(table.refused[0], Catch::StartsWith("2: "));
}

TEST_CASE("a value without a column of its own row belongs to no row") {
    const auto done = convert(DumpForm::bigtable,
                              "0f1e2d3c4b5a49788796a5b4c3d2e1f0\n  router:router_type @ x\n"
                              "    \"webpush\"\n5b2e1c7d8f904a3bb6d1e0f2a3c4b5d6\n    \"fcm\"\n");
    CHECK(done.clients.size() == 1);
    CHECK(done.counts.others == 1);
}
