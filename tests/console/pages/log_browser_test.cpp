#include "console/pages/log_browser.hpp"

#include "console/pages/webhook_queries.hpp"
#include "core/log_names.hpp"
#include "records/delivery.hpp"
#include "records/done.hpp"
#include "records/events.hpp"
#include "support/locked_log.hpp"
#include "support/manual_clock.hpp"
#include "support/publish.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace std::chrono_literals;
using log::Topic;
using nlohmann::json;

namespace {

constexpr core::Partition kPartitions = 4;

struct World {
    core::Offset write(log::TopicPartition where, const core::Record& record) {
        const auto at = test::publish(log, where, record);
        clock.advance(1s);
        return at;
    }
    core::Offset put_message() {
        core::NotificationAccepted put;
        put.uaid = uaid;
        put.key = core::new_message_key(clock.wall());
        put.message_id = "a-token-that-deletes-it";
        put.ttl_s = 60;
        put.source = "endpoint-1";
        put.body = "ciphertext";
        return write({Topic::kNotifications, 0}, core::encode(put));
    }
    json asked(const console::Parameters& of) {
        const auto answer = browser.records(of);
        CAPTURE(answer.json);
        REQUIRE(answer.status == 200);
        return json::parse(answer.json);
    }
    static std::vector<core::Offset> offsets(const json& page) {
        std::vector<core::Offset> out;
        for (const auto& one : page["records"]) out.push_back(one["offset"]);
        return out;
    }

    test::ManualClock clock;
    test::LockedLog log{log::make_memory_log({.partitions = kPartitions, .clock = &clock})};
    const core::Uaid uaid{core::random_uuid4()};
    console::ReadingTime reading{clock};
    const log::LayoutOptions layout{.partitions = kPartitions, .tiers = {0s, 60s}};
    console::LogBrowser browser{{log, clock, reading, layout}};
};

const console::Parameters kHere{{"topic", "notifications"}, {"partition", "0"}};

console::Parameters here(const char* name, const std::string& value) {
    auto of = kHere;
    of[name] = value;
    return of;
}

}  // namespace

TEST_CASE("a partition is read page by page, forwards and backwards") {
    World world;
    for (int i = 0; i < 120; ++i) world.put_message();
    const auto newest = world.asked(kHere);
    CHECK(newest["records"].size() == console::LogBrowser::kRecordsMax);
    CHECK(newest["records"].back()["offset"] == 119);
    CHECK(newest["next"] == newest["end"]);
    const auto earlier = world.asked(here("before", "70"));
    CHECK(World::offsets(earlier).front() == 20);
    CHECK(World::offsets(earlier).back() == 69);
    const auto first = world.asked(here("from", "0"));
    CHECK(World::offsets(first).front() == 0);
    CHECK(first["next"] == 50);
    CHECK(world.asked(here("from", "5000"))["records"].empty());
}

TEST_CASE("a time leads to the first record that was written then or later") {
    World world;
    world.put_message();
    const auto at = world.clock.wall();
    const auto offset = world.put_message();
    world.put_message();
    const auto page = world.asked(here("at", std::to_string(at.time_since_epoch().count())));
    CHECK(World::offsets(page).front() == offset);
}

TEST_CASE("a record shows neither the UAID nor the id that deletes the message") {
    World world;
    const auto offset = world.put_message();
    const auto answer = world.browser.record(here("offset", std::to_string(offset)));
    REQUIRE(answer.status == 200);
    CHECK(answer.json.find(core::to_hex(world.uaid)) == std::string::npos);
    CHECK(answer.json.find("a-token-that-deletes-it") == std::string::npos);
    const auto page = json::parse(answer.json);
    CHECK_THAT(page["record"]["key"].get<std::string>(),
               Catch::StartsWith(core::log_name(world.uaid)));
    CHECK(page["text"] == "ciphertext");
    CHECK(page["hex"].get<std::string>().size() == 20);
    CHECK(page["record"]["message"] == true);
}

TEST_CASE("values that hold tokens, URLs or secrets are withheld") {
    World world;
    core::ClientRecorded client;
    client.uaid = world.uaid;
    client.router_type = core::RouterType::fcm;
    client.router_data = R"({"token":"fcm-token"})";
    world.write({Topic::kSubscriptions, 1}, core::encode(client));
    world.write({Topic::kWebhooks, 1}, {.key = "w", .value = "secret-path", .headers = {}});
    retry::Delivery bridged{.id = "msg_1",
                            .webhook = core::to_hex(world.uaid),
                            .event = R"({"data":{"token":"fcm-token"}})"};
    world.write({Topic::retry(0), 1}, retry::encode(bridged));
    for (const auto* topic : {"subscriptions", "webhooks", "retry.0"}) {
        CAPTURE(topic);
        const auto answer =
            world.browser.record({{"topic", topic}, {"partition", "1"}, {"offset", "0"}});
        REQUIRE(answer.status == 200);
        CHECK(answer.json.find("fcm-token") == std::string::npos);
        CHECK(answer.json.find("secret-path") == std::string::npos);
        CHECK(answer.json.find(core::to_hex(world.uaid)) == std::string::npos);
        CHECK_FALSE(json::parse(answer.json)["withheld"].get<std::string>().empty());
    }
}

TEST_CASE("queries that name no place of the log are refused") {
    World world;
    CHECK(world.browser.records({{"topic", "no-topic"}, {"partition", "0"}}).status == 400);
    CHECK(world.browser.records({{"topic", "events"}, {"partition", "-1"}}).status == 400);
    CHECK(world.browser.record(here("offset", "9")).status == 404);
    CHECK(world.browser.topics({{"topic", "x"}}).status == 400);
    const auto topics = json::parse(world.browser.topics({{"topic", "notifications"}}).json);
    CHECK(topics["partitions"].size() == kPartitions);
    world.reading.stop();
    world.put_message();
    CHECK(world.browser.records(kHere).status == 503);
}

TEST_CASE("what waits for a webhook is what retry.done does not have as finished") {
    World world;
    const std::string webhook(32, 'a');
    const auto partition = core::partition_of(webhook, kPartitions);
    const auto deliver = [&](int tier, const std::string& id, const std::string& of) {
        retry::Delivery delivery{.id = id, .webhook = of, .event = "{}", .hop = 1};
        return world.write({Topic::retry(tier), partition}, retry::encode(delivery));
    };
    deliver(0, "dlv_done", webhook);
    deliver(1, "dlv_done-too", webhook);
    const auto due = world.clock.wall() + 60s;
    const auto first = deliver(1, "dlv_waits", webhook);
    deliver(1, "dlv_another", std::string(32, 'b'));
    deliver(1, "dlv_waits-too", webhook);
    retry::DoneRecord done{.partition = partition, .epoch = 1, .delays = {0s, 60s}, .tiers = {}};
    done.tiers[0].finished.low = 1;
    done.tiers[1].finished.above = {{.begin = 0, .end = 1}};
    world.write({Topic::kRetryDone, partition}, retry::encode(done));
    const console::WebhookQueries webhooks{{world.log, world.clock, world.reading, world.layout},
                                           console::RetryApi{{}, nullptr}};
    const auto page = json::parse(webhooks.waiting({{"id", webhook}}).json);
    CHECK(page["complete"] == true);
    REQUIRE(page["tiers"].size() == 1);
    const auto& tier = page["tiers"][0];
    CHECK(tier["topic"] == "retry.1");
    CHECK(tier["waiting"] == 2);
    CHECK(tier["first"][0]["delivery"] == "dlv_waits");
    CHECK(tier["first"][0]["offset"] == first);
    CHECK(tier["first"][0]["due"] == due.time_since_epoch().count());
}
