#include "core/json_text.hpp"
#include "ingest/ingest_world.hpp"

#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::test;
using Json = nlohmann::json;

namespace {

const std::string kPath = "/_matrix/push/v1/notify";

Json device(const std::string& pushkey) { return {{"app_id", "org.app"}, {"pushkey", pushkey}}; }

TestRequest notify(const Json& devices, const Json& more = Json::object()) {
    Json notification{{"event_id", "$e"}, {"room_id", "!r:x"}, {"devices", devices}};
    notification.update(more);
    return {.target = kPath,
            .headers = {{"Content-Type", "application/json"}},
            .body = core::json_text(Json{{"notification", notification}})};
}

std::string url(const IngestWorld::Target& target) {
    return std::string{IngestWorld::kOrigin} + target.path;
}

Json rejected(const HttpReply& reply) {
    REQUIRE(reply.status == 200);
    return core::parse_json(reply.body)["rejected"];
}

}  // namespace

TEST_CASE("a Matrix notification reaches the device of each endpoint URL") {
    IngestWorld world{{.matrix_gateway = true}};
    const auto one = world.subscribed();
    const auto two = world.subscribed();
    const auto former = "https://former.example" + two.path;
    const auto reply = world.ask(notify(Json::array({device(url(one)), device(former)}),
                                        {{"prio", "low"}, {"counts", {{"unread", 2}}}}));
    CHECK(rejected(reply) == Json::array());
    const auto records = world.notifications();
    REQUIRE(records.size() == 2);
    for (const auto& record : records) {
        CHECK(header_of(record, core::header::kUrgency) == "low");
        CHECK(header_of(record, core::header::kTtl) == "604800");
        CHECK(header_of(record, core::header::kEncoding) == "aes128gcm");
        const auto body = core::parse_json(*record.record.value)["notification"];
        CHECK(body["counts"]["unread"] == 2);
        CHECK(body["devices"].size() == 1);  // no app sees another's endpoint URL
    }
}

TEST_CASE("a homeserver is told which pushkeys to forget, and when to come again") {
    IngestWorld world{{.matrix_gateway = true}};
    const auto good = world.subscribed();
    const auto bound = world.subscribed(true);
    const auto gone = world.new_target();
    const std::string foreign = "https://elsewhere.example" + good.path;
    const auto token = std::string{IngestWorld::kOrigin} + "/wpush/nonsense";
    const auto other = std::string{IngestWorld::kOrigin} + "/status";
    const auto forgotten = rejected(
        world.ask(notify(Json::array({device(url(good)), device(url(bound)), device(url(gone)),
                                      device(foreign), device(token), device(other)}))));
    CHECK(forgotten.get<std::set<std::string>>() ==
          std::set<std::string>{url(bound), url(gone), foreign, token, other});
    CHECK(world.notifications().size() == 1);
    CHECK(world.registry_.text().find(R"(beckon_ingest_refused_total{problem="bad_endpoint"} 3)") !=
          std::string::npos);
    world.log_->set_away(true);
    CHECK(world.ask(notify(Json::array({device(url(good))}))).status == 503);
}

TEST_CASE("each device of a Matrix notification counts as a request") {
    IngestWorld world{{.requests_per_second = 4, .matrix_gateway = true}};
    const auto target = world.subscribed();
    auto devices = Json::array();
    for (int i = 0; i < 3; ++i) devices.push_back(device(url(target)));
    CHECK(world.ask(notify(devices)).status == 200);
    CHECK(world.ask(notify(devices)).status == 200);  // the fourth, and two that it has not
    CHECK(world.ask(notify(devices)).status == 429);
    CHECK(world.notifications().size() == 6);
}

TEST_CASE("a notification that is too large for every app is dropped") {
    IngestWorld world{{.matrix_gateway = true}};
    const auto target = world.subscribed();
    auto request = notify(Json::array({device(url(target))}));
    request.body_too_large = true;
    CHECK(rejected(world.ask(request)) == Json::array());
    CHECK(world.notifications().empty());
    CHECK(world.registry_.text().find(
              R"(beckon_ingest_refused_total{problem="body_too_large"} 1)") != std::string::npos);
}

TEST_CASE("a notification without an event, which clears a badge, is delivered") {
    IngestWorld world{{.matrix_gateway = true}};
    const auto target = world.subscribed();
    const Json badge{
        {"notification", {{"counts", {{"unread", 0}}}, {"devices", {device(url(target))}}}}};
    CHECK(rejected(world.ask(TestRequest{.target = kPath}.with_body(core::json_text(badge)))) ==
          Json::array());
    const auto records = world.notifications();
    REQUIRE(records.size() == 1);
    CHECK(core::parse_json(*records.front().record.value) == badge);
}

TEST_CASE("all members of a Matrix notification and its device reach the app") {
    IngestWorld world{{.matrix_gateway = true}};
    const auto target = world.subscribed();
    auto whole = device(url(target));
    whole.update({{"pushkey_ts", 12345678},
                  {"data", {{"format", "event_id_only"}}},
                  {"tweaks", {{"sound", "bing"}, {"highlight", true}}}});
    const auto request = notify(Json::array({whole}), {{"type", "m.room.message"},
                                                       {"sender", "@a:example.org"},
                                                       {"sender_display_name", "Major T\u00f6m"},
                                                       {"room_name", "Mission"},
                                                       {"room_alias", "#m:example.org"},
                                                       {"user_is_target", true},
                                                       {"prio", "high"},
                                                       {"content", {{"body", "hello"}}},
                                                       {"counts", {{"missed_calls", 1}}},
                                                       {"org.example.more", nullptr}});
    CHECK(rejected(world.ask(request)) == Json::array());
    const auto records = world.notifications();
    REQUIRE(records.size() == 1);
    CHECK(header_of(records.front(), core::header::kUrgency) == "high");
    CHECK(core::parse_json(*records.front().record.value) == core::parse_json(request.body));
}

TEST_CASE("bodies that are no Matrix notifications are refused") {
    IngestWorld world{{.matrix_gateway = true}};
    const auto key = url(world.subscribed());
    for (const auto& body :
         {std::string{}, std::string{"[]"}, std::string{"{}"}, std::string(10'000, '['),
          std::string{R"({"notification":1})"}, notify(Json::array()).body,
          notify(Json::array({1})).body, notify(Json::array({Json{{"pushkey", 1}}})).body,
          notify(Json(17, device(key))).body}) {
        CAPTURE(body);
        CHECK(world.ask(TestRequest{.target = kPath}.with_body(body)).status == 400);
    }
    CHECK(world.notifications().empty());
}

TEST_CASE("apps find a Matrix gateway where it is on") {
    const TestRequest get{.method = "GET", .target = kPath};
    CHECK(IngestWorld{{.matrix_gateway = true}}.ask(get).body ==
          R"({"unifiedpush":{"gateway":"matrix"}})");
    IngestWorld off;
    CHECK(off.ask(get).status == 404);
    CHECK(off.ask(notify(Json::array({device(url(off.subscribed()))}))).status == 404);
}
