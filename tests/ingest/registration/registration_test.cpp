#include "ingest/registration/registration.hpp"

#include "ingest/ingest_world.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::test;
using nlohmann::json;

namespace {

TestRequest call(const std::string& method, const std::string& target,
                 const std::string& body = {}) {
    TestRequest request{.method = method, .target = target};
    if (!body.empty()) {
        request.headers.emplace_back("Content-Type", "application/json");
        request.body = body;
    }
    return request;
}

TestRequest registration(const std::string& body, const std::string& app = "fcm/my-app") {
    return call("POST", "/v1/" + app + "/registration", body);
}

const std::string kToken = R"({"token":"0123456789"})";

struct Registered {
    std::string uaid;
    std::string channel;
    std::string endpoint;
    std::string secret;

    std::string path(const std::string& tail = {}) const {
        return "/v1/fcm/my-app/registration/" + uaid + tail;
    }
    TestRequest ask(const std::string& method, const std::string& tail = {},
                    const std::string& body = {}) const {
        return call(method, path(tail), body).with("Authorization", "Bearer " + secret);
    }
    std::string send_path() const { return endpoint.substr(IngestWorld::kOrigin.size()); }
};

Registered registered(IngestWorld& world, const std::string& body = kToken) {
    const auto reply = world.ask(registration(body));
    REQUIRE(reply.status == 200);
    const auto object = json::parse(reply.body);
    return {object["uaid"], object["channelID"], object["endpoint"], object["secret"]};
}

HttpReply empty_200() {
    HttpReply reply;
    reply.add("Vary", std::string{IngestWorld::kVary});
    return reply;
}

HttpReply wrong_secret() {
    HttpReply like;
    like.add("WWW-Authenticate", "Bearer");
    return error(401, "109", "Unauthorized",
                 "Authorization must be 'Bearer <secret>' with the secret of this registration.",
                 like);
}

struct Refused {
    std::string what;
    TestRequest request;
    HttpReply expected;
};

/// Each is answered so, and none of them has written anything.
void check_refused(IngestWorld& world, const std::vector<Refused>& rows) {
    const auto before = world.records(log::Topic::kSubscriptions.index()).size();
    for (const auto& row : rows) {
        CAPTURE(row.what);
        CHECK(world.ask(row.request) == row.expected);
    }
    CHECK(world.records(log::Topic::kSubscriptions.index()).size() == before);
}

}  // namespace

TEST_CASE("the registration secret is the reference's") {
    const core::Uaid uaid{*core::parse_uuid("0f1e2d3c4b5a49788796a5b4c3d2e1f0")};
    const std::string key = "c3VwZXItc2VjcmV0LXJlZ2lzdHJhdGlvbi1rZXktMDE=";
    const auto secret = ingest::registration_secret(key, uaid);
    CHECK(secret == "cc83d43fd32d40d0a8bb4825586a079c129b6a374883993712c6279e82bde557");
    CHECK(ingest::is_registration_secret({"other", key}, uaid, secret));
    CHECK_FALSE(ingest::is_registration_secret({"other"}, uaid, secret));
    CHECK_FALSE(ingest::is_registration_secret({key}, uaid, secret.substr(1)));
    CHECK_FALSE(ingest::is_registration_secret({key}, uaid, ""));
}

TEST_CASE("a registration answered 200 is durable and usable at once") {
    IngestWorld world{{.bridged_delivery = true}};
    const auto exchange = world.begin(registration(kToken));
    CHECK_FALSE(exchange->answer);
    world.run_loops();
    REQUIRE(exchange->answer);
    const auto& reply = *exchange->answer;
    CHECK(reply.status == 200);
    CHECK(reply.header("Content-Type") == "application/json");
    const auto object = json::parse(reply.body);
    CHECK(object.size() == 4);
    const auto uaid = core::parse_dashed(object["uaid"].get<std::string>());
    const auto channel = core::parse_dashed(object["channelID"].get<std::string>());
    REQUIRE(uaid);
    REQUIRE(channel);
    CHECK(object["secret"] == ingest::registration_secret("first auth key", core::Uaid{*uaid}));
    const auto endpoint = object["endpoint"].get<std::string>();
    CHECK(endpoint.size() == IngestWorld::kOrigin.size() + 7 + 66);
    const auto sent =
        world.begin(IngestWorld::post_data(endpoint.substr(IngestWorld::kOrigin.size())));
    world.run_loops(std::chrono::milliseconds{0});
    CHECK(sent->answer->status == 201);
    CHECK(world.records(log::Topic::retry(0).index()).size() == 1);
    const auto stored = world.store_->client(core::Uaid{*uaid}).value();
    REQUIRE(stored);
    CHECK(json::parse(stored->router_data) == json{{"token", "0123456789"}, {"app_id", "my-app"}});
}

TEST_CASE("a registration with a key is bound to it") {
    IngestWorld world{{.bridged_delivery = true}};
    const auto mine =
        registered(world, json{{"token", "0123456789"}, {"key", world.key_text()}}.dump());
    CHECK(mine.endpoint.size() == IngestWorld::kOrigin.size() + 7 + 87);
    CHECK(world.ask(IngestWorld::post(mine.send_path())).status == 401);
    CHECK(world.ask(IngestWorld::post(mine.send_path()).with("Authorization", world.vapid_header()))
              .status == 201);
}

TEST_CASE("an APNs registration keeps channel and aps") {
    IngestWorld world{{.bridged_delivery = true}};
    const auto reply = world.ask(registration(
        R"({"token":"0123456789","aps":"{\"alert\":{\"title\":\"x\"},\"mutable-content\":1}"})",
        "APNS/release"));
    REQUIRE(reply.status == 200);
    const auto uaid = core::parse_uuid(json::parse(reply.body)["uaid"].get<std::string>()).value();
    const auto stored = world.store_->client(core::Uaid{uaid}).value();
    REQUIRE(stored);
    CHECK(stored->router_type == core::RouterType::apns);
    CHECK(json::parse(stored->router_data) ==
          json::parse(R"({"token":"0123456789","rel_channel":"release",
                          "aps":{"alert":{"title":"x"},"mutable-content":1}})"));
}

TEST_CASE("each fault of a registration has its answer") {
    IngestWorld world{{.bridged_delivery = true}};
    const auto bad = [](const std::string& message) {
        return error(400, "null", "Bad Request", message);
    };
    const auto type = error(400, "108", "Bad Request", "The router type must be fcm or apns.");
    auto too_large = registration(kToken);
    too_large.body_too_large = true;
    auto too_large_chunked = too_large;
    too_large_chunked.body_length_given = false;
    check_refused(
        world,
        {
            {"unknown type", registration(kToken, "adm/my-app"), type},
            {"gcm is gone", registration(kToken, "gcm/my-app"), type},
            {"webpush", registration(kToken, "webpush/my-app"),
             error(400, "108", "Bad Request",
                   "Clients of type webpush register over the WebSocket.")},
            {"no content type", registration(kToken).without("Content-Type"),
             bad("Content-Type must be application/json.")},
            {"other content type", registration(kToken).with("Content-Type", "text/plain"),
             bad("Content-Type must be application/json.")},
            {"malformed", registration("{"), bad("The body must be one JSON object.")},
            {"no object", registration("[]"), bad("The body must be one JSON object.")},
            {"no token", registration("{}"), bad("token is required, as text.")},
            {"token a number", registration(R"({"token":12345678})"),
             bad("token is required, as text.")},
            {"short token", registration(R"({"token":"1234567"})"),
             bad("token must have at least 8 characters and no space.")},
            {"token with a space", registration(R"({"token":"1234 5678"})"),
             bad("token must have at least 8 characters and no space.")},
            {"bad channel id", registration(R"({"token":"0123456789","channelID":"x"})"),
             bad("channelID must be a UUID.")},
            {"bad key", registration(R"({"token":"0123456789","key":"***"})"),
             bad("key must be a VAPID public key as base64url text.")},
            {"unknown FCM app", registration(kToken, "fcm/other"),
             error(400, "106", "Bad Request", "The application id is not configured here.")},
            {"unknown APNs channel", registration(kToken, "apns/other"),
             bad("The release channel is not configured here.")},
            {"aps no text", registration(R"({"token":"0123456789","aps":{}})", "apns/release"),
             bad("aps must be text that holds a JSON object.")},
            {"aps no JSON", registration(R"({"token":"0123456789","aps":"x"})", "apns/release"),
             bad("aps must be text that holds a JSON object.")},
            {"aps unknown field",
             registration(R"({"token":"0123456789","aps":"{\"x\":1}"})", "apns/release"),
             bad("aps has an unknown field.")},
            {"too large", too_large,
             error(413, "null", "Payload Too Large", "The JSON body is larger than allowed.")},
            {"too large, chunked", too_large_chunked,
             error(413, "104", "Payload Too Large", "The message body is larger than allowed.")},
        });
}

TEST_CASE("calls of a registration need its secret, in this order of checks") {
    IngestWorld world{{.bridged_delivery = true}};
    const auto mine = registered(world);
    const auto other = registered(world);
    const auto no_client = gone("103", "No such client.");
    const auto get = mine.ask("GET");

    CHECK(world.ask(call("GET", "/v1/fcm/my-app/registration/not-a-uuid")) == no_client);
    for (const auto& header : std::vector<std::string>{
             "", "Bearer", "Bearer ", "Basic " + mine.secret, mine.secret, "Bearer " + other.secret,
             "Bearer" + mine.secret, "Bearer " + mine.secret + "0"}) {
        CAPTURE(header);
        CHECK(world.ask(get.with("Authorization", header)) == wrong_secret());
    }
    CHECK(world.ask(get.without("Authorization")) == wrong_secret());
    for (const std::string before : {"WEBPUSH ", "bearer ", "BEARER  ", "Bearer\t"}) {
        CAPTURE(before);
        CHECK(world.ask(get.with("Authorization", before + mine.secret)).status == 200);
    }
    const core::Uaid uaid{*core::parse_uuid(mine.uaid)};
    CHECK(world
              .ask(get.with("Authorization",
                            "Bearer " + ingest::registration_secret("old auth key", uaid)))
              .status == 200);
    CHECK(world.ask(get.to("/v1/xyz/my-app/registration/" + mine.uaid)) ==
          error(400, "108", "Bad Request", "The router type must be fcm or apns."));

    const core::Uaid nobody{core::random_uuid4()};
    const auto secret = ingest::registration_secret("first auth key", nobody);
    for (const std::string method : {"GET", "DELETE", "PUT"}) {
        CHECK(world.ask(call(method, "/v1/fcm/my-app/registration/" + core::to_hex(nobody), kToken)
                            .with("Authorization", "Bearer " + secret)) == no_client);
    }
}

TEST_CASE("GET of a registration lists its channels and renews it once a day") {
    IngestWorld world{{.bridged_delivery = true}};
    const auto mine = registered(world);
    const auto count = [&] {
        const auto records = world.records(log::Topic::kSubscriptions.index());
        return std::count_if(records.begin(), records.end(),
                             [](const auto& stored) { return stored.record.key.front() != '!'; });
    };
    const auto before = count();
    const auto reply = world.ask(mine.ask("GET"));
    CHECK(reply.status == 200);
    CHECK(json::parse(reply.body) == json{{"uaid", mine.uaid}, {"channelIDs", {mine.channel}}});
    CHECK(count() == before);
    world.clock_.advance(std::chrono::hours{25});
    CHECK(world.ask(mine.ask("GET")).status == 200);
    CHECK(count() == before + 1);
    const auto client = world.store_->client(core::Uaid{*core::parse_uuid(mine.uaid)}).value();
    CHECK(world.clock_.wall() - client->last_seen < std::chrono::minutes{1});
}

TEST_CASE("GET of a registration misses no channel that another endpoint has made") {
    IngestWorld world{{.bridged_delivery = true}};
    const auto mine = registered(world);
    const core::Uaid uaid{*core::parse_uuid(mine.uaid)};
    const auto where = world.subscriptions_of(uaid);
    world.log_->hold_readers(where, true);
    core::ChannelRecorded added;
    added.uaid = uaid;
    added.channel = core::ChannelId{core::random_uuid4()};
    world.publish(where, core::encode(added));
    world.run_loops();
    const auto asked = world.begin(mine.ask("GET"));
    world.run_loops();
    CHECK_FALSE(asked->answer);
    SECTION("the view comes up with it") {
        world.log_->hold_readers(where, false);
        world.run_loops();
        REQUIRE(asked->answer);
        CHECK(json::parse(asked->answer->body)["channelIDs"].size() == 2);
    }
    SECTION("the view does not") {
        world.run_loops(std::chrono::seconds{10});
        REQUIRE(asked->answer);
        CHECK(asked->answer->status == 503);
    }
}

TEST_CASE("a body fault of PUT has the answer that it has in POST") {
    IngestWorld world{{.bridged_delivery = true}};
    const auto mine = registered(world);
    const auto good = mine.ask("PUT", "", kToken);
    check_refused(
        world, {
                   {"no content type", good.without("Content-Type"),
                    error(400, "null", "Bad Request", "Content-Type must be application/json.")},
                   {"unknown FCM app", good.to("/v1/fcm/other/registration/" + mine.uaid),
                    error(400, "106", "Bad Request", "The application id is not configured here.")},
                   {"unknown type", good.to("/v1/gcm/my-app/registration/" + mine.uaid),
                    error(400, "108", "Bad Request", "The router type must be fcm or apns.")},
               });
}

TEST_CASE("the media type of a JSON body") {
    IngestWorld world{{.bridged_delivery = true}};
    const std::vector<std::pair<std::string, int>> rows{
        {"application/json", 200},
        {"Application/JSON", 200},
        {"text/json", 200},
        {"application/json;charset=utf-8", 200},
        {"application/vnd.api+json ; x=y", 200},
        {"application/x+JSON; charset=utf-8", 200},
        {"", 400},
        {"json", 400},
        {"application/jsonp", 400},
        {"application/json+xml", 400},
        {"text/plain; a=application/json", 400},
    };
    for (const auto& [type, status] : rows) {
        CAPTURE(type);
        CHECK(world.ask(registration(kToken).with("Content-Type", type)).status == status);
    }
}

TEST_CASE("PUT of a registration replaces router type and data") {
    IngestWorld world{{.bridged_delivery = true}};
    const auto mine = registered(world);
    const auto path = "/v1/apns/release/registration/" + mine.uaid;
    CHECK(world.ask(mine.ask("PUT", "", R"({"token":"another one"})")) ==
          error(400, "null", "Bad Request", "token must have at least 8 characters and no space."));
    CHECK(world.ask(mine.ask("PUT", "", R"({"token":"abcdefgh"})").to(path)) == empty_200());
    const auto client = world.store_->client(core::Uaid{*core::parse_uuid(mine.uaid)}).value();
    CHECK(client->router_type == core::RouterType::apns);
    CHECK(json::parse(client->router_data) ==
          json{{"token", "abcdefgh"}, {"rel_channel", "release"}});
    CHECK(json::parse(world.ask(mine.ask("GET")).body)["channelIDs"].size() == 1);
}

TEST_CASE("DELETE of a registration ends all its endpoints at once") {
    IngestWorld world{{.bridged_delivery = true}};
    const auto mine = registered(world);
    CHECK(world.ask(mine.ask("DELETE")) == empty_200());
    CHECK(world.ask(IngestWorld::post_data(mine.send_path())).status == 410);
    CHECK(world.ask(mine.ask("GET")) == gone("103", "No such client."));
}

TEST_CASE("DELETE needs no more space in the log for many channels than for one") {
    IngestWorld world{{.publish_bytes_max = 700, .bridged_delivery = true}};
    const auto mine = registered(world);
    for (int i = 0; i < 8; ++i) {
        REQUIRE(world.ask(mine.ask("POST", "/subscription", "{}")).status == 200);
    }
    CHECK(world.ask(mine.ask("DELETE")) == empty_200());
    CHECK(world.ask(IngestWorld::post_data(mine.send_path())).status == 410);
}

TEST_CASE("channels of a registration come and go") {
    IngestWorld world{{.bridged_delivery = true}};
    const auto mine = registered(world);
    const std::string chosen = "11112222-3333-4444-5555-666677778888";
    const auto list = [&] { return json::parse(world.ask(mine.ask("GET")).body)["channelIDs"]; };

    SECTION("added twice, it is there once") {
        const auto body = R"({"channelID":")" + chosen + "\"}";
        for (int i = 0; i < 2; ++i) {
            const auto reply = world.ask(mine.ask("POST", "/subscription", body));
            CHECK(reply.status == 200);
            const auto object = json::parse(reply.body);
            CHECK(object["channelID"] == chosen);
            const auto endpoint = object["endpoint"].get<std::string>();
            CHECK(
                world.ask(IngestWorld::post(endpoint.substr(IngestWorld::kOrigin.size()))).status ==
                201);
        }
        CHECK(list().size() == 2);
        CHECK(world.ask(mine.ask("DELETE", "/subscription/" + chosen)) == empty_200());
        CHECK(list().size() == 1);
    }
    SECTION("an unreadable body counts as {}") {
        for (const std::string body : {"", "{", "[]", "null"}) {
            const auto reply = world.ask(mine.ask("POST", "/subscription", body));
            CHECK(reply.status == 200);
            CHECK(core::parse_dashed(json::parse(reply.body)["channelID"].get<std::string>()));
        }
        const auto good = mine.ask("POST", "/subscription", "{}");
        auto too_large = good;
        too_large.body_too_large = true;
        CHECK(world.ask(too_large).status == 200);
        CHECK(world.ask(good.without("Content-Type")).status == 200);
        CHECK(world.ask(good.with("Content-Type", "text/plain")).status == 200);
        CHECK(list().size() == 8);
    }
    SECTION("an id or a key that cannot be read is refused: another channel would be a surprise") {
        CHECK(world.ask(mine.ask("POST", "/subscription", R"({"channelID":"x"})")) ==
              error(400, "null", "Bad Request", "channelID must be a UUID."));
        CHECK(
            world.ask(mine.ask("POST", "/subscription", R"({"key":"***"})")) ==
            error(400, "null", "Bad Request", "key must be a VAPID public key as base64url text."));
        CHECK(list().size() == 1);
    }
    SECTION("a key binds the endpoint to it") {
        const auto reply =
            world.ask(mine.ask("POST", "/subscription", json{{"key", world.key_text()}}.dump()));
        const auto path = json::parse(reply.body)["endpoint"].get<std::string>().substr(
            IngestWorld::kOrigin.size());
        CHECK(world.ask(IngestWorld::post(path)).status == 401);
        const auto sent = IngestWorld::post(path).with("Authorization", world.vapid_header());
        CHECK(world.ask(sent).status == 201);
    }
    SECTION("the last one removed, none are left") {
        CHECK(world.ask(mine.ask("DELETE", "/subscription/" + mine.channel)) == empty_200());
        CHECK(list() == json::array());
        CHECK(world.ask(mine.ask("DELETE", "/subscription/" + mine.channel)).status == 410);
    }
    SECTION("what is not there cannot be removed") {
        const auto no_channel = no_such_subscription();
        CHECK(world.ask(mine.ask("DELETE", "/subscription/" + chosen)) == no_channel);
        CHECK(world.ask(mine.ask("DELETE", "/subscription/junk")) == no_channel);
    }
}

TEST_CASE("a bridged client has a bounded number of channels") {
    IngestWorld world{{.bridged_delivery = true, .channels_per_client_max = 3}};
    const auto mine = registered(world);
    const auto add = [&] { return world.ask(mine.ask("POST", "/subscription", "{}")); };
    std::vector<std::string> added;
    for (int i = 0; i < 2; ++i) {
        const auto reply = add();
        REQUIRE(reply.status == 200);
        added.push_back(json::parse(reply.body)["channelID"]);
    }
    CHECK(add().status == 409);
    CHECK(world.ask(mine.ask("POST", "/subscription", json{{"channelID", mine.channel}}.dump()))
              .status == 200);  // it is there already
    CHECK(world.ask(mine.ask("DELETE", "/subscription/" + added[0])) == empty_200());
    CHECK(add().status == 200);
    CHECK(add().status == 409);
    // Removed ones are remembered for a day: so are twice as many at most.
    int taken = 4;
    for (int i = 0; i < 20; ++i) {
        const auto channels = json::parse(world.ask(mine.ask("GET")).body)["channelIDs"];
        const auto last = channels.back().get<std::string>();
        CHECK(world.ask(mine.ask("DELETE", "/subscription/" + last)).status == 200);
        const auto reply = add();
        if (reply.status == 409) break;
        ++taken;
    }
    CHECK(taken == 6);
}

TEST_CASE("clients of the WebSocket are not changed here") {
    IngestWorld world{{.bridged_delivery = true}};
    const auto target = world.subscribed();
    const auto secret = ingest::registration_secret("first auth key", target.uaid);
    const auto request = call("DELETE", "/v1/fcm/my-app/registration/" + core::to_hex(target.uaid))
                             .with("Authorization", "Bearer " + secret);
    CHECK(world.ask(request) == error(400, "108", "Bad Request",
                                      "Clients of type webpush are changed over the WebSocket."));
    CHECK(world.ask(IngestWorld::post_data(target.path)).status == 201);
}

TEST_CASE("a registration that is not durable, or not seen, is not answered 200") {
    IngestWorld world{{.partitions = 1}};
    HttpReply like;
    like.add("Retry-After", "10");
    const auto busy = error(503, "null", "Service Unavailable",
                            "The service is not available at present; try again later.", like);
    SECTION("the log is away") { world.log_->set_away(true); }
    SECTION("the second record is lost") { world.log_->lose_next_answers(1); }
    SECTION("the view lags") { world.log_->hold_readers({log::Topic::kSubscriptions, 0}, true); }
    CHECK(world.ask(registration(kToken)) == busy);
}

TEST_CASE("without an auth key registrations are refused") {
    IngestWorld world{{.bridged_delivery = true}};
    world.shared_->keys = std::make_shared<core::KeyRing>(
        std::vector<core::KeyRing::Key>{{0, core::Secret32{1, 2, 3}, "2026-01-01T00:00:00Z"}},
        std::vector<std::string>{}, std::vector<std::string>{});
    CHECK(world.ask(registration(kToken)).status == 503);
}

TEST_CASE("a token full of brackets registers a client that can be read again") {
    IngestWorld world;
    const auto token = std::string(60, '{') + std::string(60, '[') + "0123456789";
    const auto client = registered(world, json{{"token", token}}.dump());
    CHECK(world.ask(client.ask("GET")).status == 200);
    const auto changed = json{{"token", token + "]"}}.dump();
    CHECK(world.ask(client.ask("PUT", "", changed)).status == 200);
    CHECK(world.ask(client.ask("GET")).status == 200);
}
