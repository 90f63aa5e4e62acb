#include "ingest/ingest_world.hpp"
#include "ingest/registration/registration.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

// Rules of every route: docs/protocol/http-api.md#conventions,
// docs/protocol/http-api.md#routes, docs/protocol/http-api.md#browsers.

using namespace beckon;
using namespace beckon::test;
using nlohmann::json;

namespace {

const std::vector<std::string> kUuidForms{
    "0f1e2d3c4b5a49788796a5b4c3d2e1f0",
    "0F1E2D3C4B5A49788796A5B4C3D2E1F0",
    "0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0",
    "0F1E2D3C-4b5a-4978-8796-A5B4C3D2E1F0",
    "{0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0}",
    "{0F1E2D3C-4B5A-4978-8796-A5B4C3D2E1F0}",
    "urn:uuid:0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0",
    "URN:UUID:0F1E2D3C-4B5A-4978-8796-A5B4C3D2E1F0",
};
const std::vector<std::string> kNoUuids{
    "0",
    "0f1e2d3c4b5a49788796a5b4c3d2e1f",
    "0f1e2d3c4b5a49788796a5b4c3d2e1f00",
    "0f1e2d3c4b5a49788796a5b4c3d2e1fg",
    "0f1e2d3c4-b5a-4978-8796-a5b4c3d2e1f0",
    "{0f1e2d3c4b5a49788796a5b4c3d2e1f0}",
    "{0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0",
    "urn:uuid:0f1e2d3c4b5a49788796a5b4c3d2e1f0",
    "uuid:0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0",
    "0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0 ",
};
const std::string kDashed = "0f1e2d3c-4b5a-4978-8796-a5b4c3d2e1f0";

TestRequest call(const std::string& method, const std::string& target,
                 const std::string& body = {}) {
    return {.method = method,
            .target = target,
            .headers = {{"Content-Type", "application/json"}},
            .body = body};
}

}  // namespace

TEST_CASE("a UUID is taken in every form, in paths and in JSON, and shown in one") {
    IngestWorld world;
    const core::Uaid uaid{*core::parse_uuid(kDashed)};
    const core::ChannelId channel{*core::parse_uuid(kDashed)};
    const auto secret = "Bearer " + ingest::registration_secret("first auth key", uaid);
    const auto registration = [&](const std::string& text) {
        return "/v1/fcm/my-app/registration/" + text;
    };
    world.subscribe(uaid, channel, core::RouterType::fcm);
    world.run_loops();
    for (const auto& text : kUuidForms) {
        CAPTURE(text);
        const auto read = world.ask(call("GET", registration(text)).with("Authorization", secret));
        CHECK(read.status == 200);
        CHECK(json::parse(read.body)["uaid"] == kDashed);
        const auto added = world.ask(
            call("POST", registration(text) + "/subscription", json{{"channelID", text}}.dump())
                .with("Authorization", secret));
        CHECK(added.status == 200);
        CHECK(json::parse(added.body)["channelID"] == kDashed);
        CHECK(world
                  .ask(call("DELETE", registration(text) + "/subscription/" + text)
                           .with("Authorization", secret))
                  .status == 200);
    }
    for (const auto& text : kNoUuids) {
        CAPTURE(text);
        // Before a look at Authorization.
        CHECK(world.ask(call("GET", registration(text))) == gone("103", "No such client."));
        CHECK(world.ask(call("DELETE", registration(kDashed) + "/subscription/" + text)
                            .with("Authorization", secret)) == no_such_subscription());
        CHECK(world.ask(call("POST", "/v1/fcm/my-app/registration",
                             json{{"token", "0123456789"}, {"channelID", text}}.dump())) ==
              error(400, "null", "Bad Request", "channelID must be a UUID."));
    }
}

TEST_CASE("of a repeated header the first counts, and a value that is not ASCII is invalid") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto bound = world.subscribed(true);
    const auto good = IngestWorld::post_data(target.path);
    const auto twice = [&](const std::string& name, const std::string& first,
                           const std::string& second) {
        auto request = good.with(name, first);
        request.headers.emplace_back(name, second);
        return request;
    };
    CHECK(world.ask(twice("TTL", "5", "x")).header("TTL") == "5");
    CHECK(world.ask(twice("TTL", "x", "5")) ==
          error(400, "111", "Bad Request", "TTL is required: whole seconds, 0 or more."));
    // An unreadable one is still the first.
    CHECK(world.ask(twice("TTL", "5\x80", "5")) ==
          error(400, "111", "Bad Request", "TTL is required: whole seconds, 0 or more."));
    CHECK(world.ask(good.with("ttl", "7").without("TTL")).header("TTL") == "7");

    CHECK(world.ask(good.with("Authorization", "nonsense\xc3\xa9")).status == 401);
    CHECK(world.ask(good.with("Authorization", world.vapid_header() + "\x7f").to(bound.path))
              .status == 401);
    CHECK(world.ask(good.with("Content-Encoding", "aes128gcm\x01")) ==
          error(400, "110", "Bad Request", "Content-Encoding must be aes128gcm or aesgcm."));
    // The sender asked for these: without them it would be another message.
    CHECK(world.ask(good.with("Topic", "news\xff")) ==
          error(400, "113", "Bad Request",
                "Topic must be 1 to 32 characters from A-Z a-z 0-9 - _ (RFC 8030 5.4)."));
    CHECK(world.ask(good.with("Urgency", "x\xff")).status == 400);
    CHECK_FALSE(world.ask(good.with("Origin", "https://\xe9.example"))
                    .header("Access-Control-Allow-Origin"));
}

TEST_CASE("parts of a request that are not read do not matter") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto good = IngestWorld::post_data(target.path);
    for (const auto& [name, value] : HeaderList{{"Content-Type", "text/html; charset=\""},
                                                {"Prefer", "return=minimal"},
                                                {"Priority", "u=1"},
                                                {"Accept", "nothing"},
                                                {"X-MessageId", "not tracked"},
                                                {"traceparent", "nonsense"},
                                                {"Cookie", "a=b"}}) {
        CAPTURE(name);
        CHECK(world.ask(good.with(name, value)).status == 201);
    }
    CHECK(header_of(world.notifications().back(), core::header::kTraceparent) == "(absent)");
}

TEST_CASE("each form of OPTIONS") {
    IngestWorld world;
    const auto options = [](HeaderList headers) {
        return TestRequest{
            .method = "OPTIONS", .target = "/wpush/abc", .headers = std::move(headers)};
    };
    const auto reply = [](int status, HeaderList headers, std::string body = {}) {
        HttpReply expected;
        expected.status = status;
        expected.body = std::move(body);
        const std::vector<std::string_view> names{"Content-Type",
                                                  "Allow",
                                                  "Access-Control-Allow-Methods",
                                                  "Access-Control-Allow-Headers",
                                                  "Access-Control-Max-Age",
                                                  "Access-Control-Allow-Origin",
                                                  "Access-Control-Expose-Headers"};
        for (const auto name : names) {  // ReplyHeader wants names that stay
            for (auto& [given, value] : headers) {
                if (given == name) expected.add(name, value);
            }
        }
        expected.add("Vary", std::string{IngestWorld::kVary});
        return expected;
    };
    const std::string method = "Access-Control-Request-Method";
    const std::string names = "Access-Control-Request-Headers";
    const HeaderList allowed{{"Access-Control-Allow-Methods", "DELETE, GET, POST, PUT"},
                             {"Access-Control-Max-Age", "3600"}};
    auto with_headers = allowed;
    with_headers.emplace_back("Access-Control-Allow-Headers", "ttl, x-y");
    auto with_origin = allowed;
    with_origin.emplace_back("Access-Control-Allow-Origin", "null");
    with_origin.emplace_back("Access-Control-Expose-Headers", "Location, Link, TTL");
    const HttpReply ordinary = reply(405, {{"Allow", "POST"}});
    const HttpReply refused =
        reply(400, {{"Content-Type", "text/plain; charset=utf-8"}},
              "The requested method is not allowed; DELETE, GET, POST and PUT are.");

    for (const std::string good : {"DELETE", "GET", "POST", "PUT"}) {
        CHECK(world.ask(options({{method, good}})) == reply(200, allowed));
    }
    const auto preflight = options({{method, "PUT"}, {names, "ttl, x-y"}});
    CHECK(world.ask(preflight) == reply(200, with_headers));
    CHECK(world.ask(preflight.to("/nowhere")) == reply(200, with_headers));
    CHECK(world.ask(options({{method, "PUT"}, {"Origin", "null"}})) == reply(200, with_origin));
    for (const std::string other : {"PATCH", "HEAD", "OPTIONS", "post", "M-SEARCH"}) {
        CAPTURE(other);
        CHECK(world.ask(options({{method, other}})) == refused);
    }
    for (const std::string junk : {"", "PO ST", "P,Q", "\"GET\"", "G\xc3\x89T"}) {
        CAPTURE(junk);
        CHECK(world.ask(options({{method, junk}})) == ordinary);
    }
    CHECK(world.ask(options({})) == ordinary);
    CHECK(world.ask(options({{names, "ttl"}, {"Origin", "null"}})) ==
          reply(405, {{"Allow", "POST"},
                      {"Access-Control-Allow-Origin", "null"},
                      {"Access-Control-Expose-Headers", "Location, Link, TTL"}}));
    CHECK(world.ask(options({}).to("/nowhere")) ==
          error(404, "null", "Not Found", "There is nothing at this path."));
}

TEST_CASE("a client of a retired or unknown router type is no subscription") {
    IngestWorld world;
    for (const std::string type : {"gcm", "adm", ""}) {
        CAPTURE(type);
        const auto target = world.new_target();
        core::Record client;
        client.key = core::to_hex(target.uaid);
        client.value = R"({"router_type":")" + type + R"(","created":1,"last_seen":1})";
        client.headers.push_back({"ce_type", "beckon.client.v1"});
        world.publish(world.subscriptions_of(target.uaid), std::move(client));
        world.run_loops();
        CHECK(world.ask(IngestWorld::post_data(target.path)) == no_such_subscription());
    }
}
