#include "console/pages/finder.hpp"

#include "core/log_names.hpp"
#include "core/tokens.hpp"
#include "records/events.hpp"
#include "support/locked_log.hpp"
#include "support/manual_clock.hpp"
#include "support/publish.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

constexpr core::Partition kPartitions = 4;

/// A log with a client, its channel and a message, and the finder.
struct World {
    World() {
        core::ClientRecorded client;
        client.uaid = uaid;
        client.created = client.last_seen = clock.wall();
        write(log::Topic::kSubscriptions, core::encode(client));
        clock.advance(1s);
        core::NotificationAccepted put;
        put.uaid = uaid;
        put.key = key;
        put.message_id = "id";
        put.channel = channel;
        put.ttl_s = 3'600;
        put.reliability_id = "track-1";
        put.source = "endpoint-1";
        put.body = "body";
        write(log::Topic::kNotifications, core::encode(put));
        accepted = clock.wall();
        clock.advance(10s);
    }
    void write(log::Topic topic, const core::Record& record) {
        test::publish(log, {topic, core::partition_of(uaid, kPartitions)}, record);
    }
    json found(const std::string& text) {
        const auto answer = finder.find({{"q", text}});
        CAPTURE(answer.json);
        REQUIRE(answer.status == 200);
        return json::parse(answer.json);
    }
    json state(core::Timestamp at) {
        const auto answer = finder.state(
            {{"q", core::to_dashed(uaid)}, {"at", std::to_string(at.time_since_epoch().count())}});
        CAPTURE(answer.json);
        REQUIRE(answer.status == 200);
        return json::parse(answer.json);
    }

    test::ManualClock clock;
    /// Searches are made on threads of their own.
    test::LockedLog log{log::make_memory_log({.partitions = kPartitions, .clock = &clock})};
    const std::shared_ptr<const core::KeyRing> keys =
        std::make_shared<const core::KeyRing>(core::KeyRing::generate());
    core::Tokens tokens{keys};
    const core::Uaid uaid{core::random_uuid4()};
    const core::ChannelId channel{core::random_uuid4()};
    const core::MessageKey key = core::new_message_key(clock.wall());
    core::Timestamp accepted{};
    console::ReadingTime reading{clock};
    const console::ClientHomes homes{std::nullopt, keys};
    const log::LayoutOptions layout{.partitions = kPartitions, .tiers = {}};
    console::Finder finder{{log, clock, reading, layout}, {keys, &homes}};
};

std::vector<std::string> whats(const json& page) {
    std::vector<std::string> out;
    for (const auto& step : page["trace"]["steps"]) out.push_back(step["what"]);
    return out;
}

}  // namespace

TEST_CASE("a message is found with its life, by its id and by its URL") {
    World world;
    const auto id = world.tokens.seal_message({world.uaid, world.key});
    for (const auto& text : {id, "https://push.example.org/m/" + id, "  " + id + "\n"}) {
        const auto page = world.found(text);
        CHECK(page["kind"] == "message");
        CHECK(whats(page) == std::vector<std::string>{"client", "accepted"});
        CHECK(page["trace"]["outcome"] == "waiting");
    }
}

TEST_CASE("an endpoint URL and a UAID are found with the life of their client") {
    World world;
    const auto url =
        "https://push.example.org/wpush/" + world.tokens.seal_endpoint(world.uaid, world.channel);
    for (const auto& [text, kind] :
         {std::pair{url, "endpoint URL"}, std::pair{core::to_dashed(world.uaid), "UAID"}}) {
        const auto page = world.found(text);
        CHECK(page["kind"] == kind);
        CHECK(whats(page) == std::vector<std::string>{"client", "accepted"});
        CHECK(page["facts"].dump().find(core::log_name(world.uaid)) != std::string::npos);
        CHECK(page["until"] > page["from"]);
    }
}

TEST_CASE(
    "a text that is not of this installation is refused, and the error names the allowed forms") {
    World world;
    const auto answer = world.finder.find({{"q", "no such thing"}});
    CHECK(answer.status == 404);
    CHECK_THAT(answer.json, Catch::Contains("reliability id"));
    CHECK(world.finder.find({}).status == 404);
    CHECK(world.finder.find({{"q", "track-2"}}).status == 404);
}

TEST_CASE("a place in the log finds the message of its record, and its client") {
    World world;
    const auto place = world.found(core::to_dashed(world.uaid))["trace"]["steps"].back();
    const auto at = "notifications/" + std::to_string(place["partition"].get<int>()) + "@" +
                    std::to_string(place["offset"].get<int>());
    CHECK(world.found(at)["kind"] == "message");
    CHECK(world.found(at + "/client")["kind"] == "UAID");
    CHECK(place["message"] == core::log_name(world.key));
    const auto none = world.finder.find({{"q", "notifications/0@77"}});
    CHECK(none.status == 404);
    CHECK_THAT(none.json, Catch::Contains("compacted away"));
}

TEST_CASE("the name of a message in log lines finds the message, and no client") {
    World world;
    const auto page = world.found(core::log_name(world.key));
    CHECK(page["kind"] == "message");
    CHECK(page["trace"]["outcome"] == "waiting");
    CHECK(world.found(core::to_hex(world.uaid))["kind"] == "UAID");
}

TEST_CASE("a UAID that nobody has is said to be that") {
    World world;
    const core::Uaid nobody{core::random_uuid4()};
    for (const auto& text : {core::to_hex(nobody), core::to_dashed(nobody)}) {
        const auto answer = world.finder.find({{"q", text}});
        CHECK(answer.status == 404);
        CHECK_THAT(answer.json, Catch::Contains("no client with this UAID"));
    }
    CHECK_THAT(world.finder.find({{"q", "dlv_abc"}}).json, Catch::Contains("a webhook's delivery"));
}

TEST_CASE("a message whose TTL has ended is said to be expired, with its client and alone") {
    World world;
    world.clock.advance(2h);
    CHECK(whats(world.found(core::to_dashed(world.uaid))) ==
          std::vector<std::string>{"client", "accepted", "expired"});
    CHECK(whats(world.found(world.tokens.seal_message({world.uaid, world.key}))) ==
          std::vector<std::string>{"client", "accepted", "expired"});
}

TEST_CASE("the state of a client is that of the moment") {
    World world;
    CHECK(world.state(world.accepted - 2s)["known"].is_null());
    const auto before = world.state(world.accepted - 500ms);
    CHECK_FALSE(before["known"].is_null());
    CHECK(before["waiting"].empty());
    CHECK(world.state(world.accepted)["waiting"].size() == 1);
    CHECK(world.finder.state({{"q", core::to_dashed(world.uaid)}, {"at", "now"}}).status == 400);
}

TEST_CASE("a finder that is stopped reads no longer") {
    World world;
    world.reading.stop();
    const auto page = world.found(core::to_dashed(world.uaid));
    CHECK(page["trace"].is_null());
    CHECK_THAT(page["problem"].get<std::string>(), Catch::Contains("not read to its end"));
}

TEST_CASE("a client's removal is planned for whatever names it, and needs the client's home") {
    World world;
    const auto wanted = [](const std::string& text) { return json{{"q", text}}.dump(); };
    for (const auto& name :
         {core::to_dashed(world.uaid),
          "https://push.example.org/wpush/" + world.tokens.seal_endpoint(world.uaid, world.channel),
          core::log_name(world.key)}) {
        CAPTURE(name);
        const auto plan = world.finder.plan_removal(wanted(name));
        REQUIRE(plan.answer.status == 200);
        CHECK(json::parse(plan.answer.json)["does"][0] ==
              "The client ends with 0 channels and 1 waiting message: senders get 410 from then "
              "on.");
        CHECK(plan.order == name);
    }
    CHECK(world.finder.plan_removal(wanted(core::to_dashed(core::Uaid{}))).answer.status == 404);
    CHECK(world.finder.plan_removal("{}").answer.status == 400);
    const auto given = world.finder.remove(core::to_dashed(world.uaid), "127.0.0.1");
    CHECK(given.status == 503);
    CHECK_THAT(given.json, Catch::Contains("no edge is known"));
}

TEST_CASE("the answer of a client's home says whether it is connected, or why that is not known") {
    CHECK(console::connection_json(std::string{
              R"({"served": true, "connected": true, "attached_since": 1700000000000, "edge": "9f",
                  "unanswered": 2, "sent": []})"}) ==
          nlohmann::ordered_json{{"connected", true},
                                 {"since", 1'700'000'000'000},
                                 {"edge", "9f"},
                                 {"unanswered", 2},
                                 {"problem", ""}});
    const auto away = console::connection_json(std::string{
        R"({"served": true, "connected": false, "attached_since": null, "edge": null})"});
    CHECK(away["connected"] == false);
    CHECK(away["since"].is_null());
    World world;
    const auto unknown = world.found(core::to_dashed(world.uaid))["connection"];
    CHECK(unknown["connected"] == false);
    CHECK_THAT(unknown["problem"].get<std::string>(), Catch::Contains("no edge is known"));
}
