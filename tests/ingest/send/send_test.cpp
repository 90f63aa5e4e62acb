#include "ingest/ingest_world.hpp"
#include "records/receipt.hpp"
#include "support/noted_milestones.hpp"

#include <tuple>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;

namespace {

// The vectors of docs/formats/tokens.md#test-vectors.
const std::string kFernetKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const std::string kFernetV1 =
    "gAAAAABlU_EAEBESExQVFhcYGRobHB0eH8t4sR4JLw7BkeTgisdwXAZpU5w-LXrnRVfMkljwC0IBxmqirHy3bjPQ7haBD7"
    "__pBlmq7ZcaPwdgwfFybhPz2lB7Bx_LHBq8ScixMS529qq";
const std::string kFernetV2 =
    "gAAAAABlU_EAEBESExQVFhcYGRobHB0eH8t4sR4JLw7BkeTgisdwXAZpU5w-LXrnRVfMkljwC0IB__MjgxYiQHx8QA-JfP"
    "4H9ptqmxpK-2UJItOwWBfPBREkXQ5lC8wzunnAoftQ396_5lLKIXWPJqW373Qe-ZPSJNDpuKYF5d3DR_MPVp3_4EY";
const core::Uaid kFernetUaid{*core::parse_uuid("0f1e2d3c4b5a49788796a5b4c3d2e1f0")};
const core::ChannelId kFernetChannel{*core::parse_uuid("11112222333344445555666677778888")};

HttpReply unauthorized(const std::string& message) {
    HttpReply like;
    like.add("WWW-Authenticate", "vapid");
    return error(401, "109", "Unauthorized", message, like);
}

HttpReply unavailable(const std::string& code, const std::string& message) {
    HttpReply like;
    like.add("Retry-After", "10");
    return error(503, code, "Service Unavailable", message, like);
}

const std::string kNotAnEndpoint = "This is not a push endpoint of this service.";
const std::string kTooLarge = "The message body is larger than allowed.";
const std::string kTtlRequired = "TTL is required: whole seconds, 0 or more.";

}  // namespace

TEST_CASE("a message to a subscription is answered 201 with Location and TTL") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto reply = world.ask(IngestWorld::post_data(target.path).with("TTL", "90"));
    const auto records = world.notifications();
    REQUIRE(records.size() == 1);
    HttpReply expected;
    expected.status = 201;
    const auto id = header_of(records[0], core::header::kId);
    expected.add("Location", "https://push.example.com:8443/m/" + id);
    expected.add("TTL", "90");
    expected.add("Vary", std::string{IngestWorld::kVary});
    CHECK(reply == expected);
    CHECK(records[0].record.key.starts_with(core::to_hex(target.uaid) + "/"));
    CHECK(records[0].record.value == "ciphertext");
    const auto message = world.tokens_.open_message(id);
    REQUIRE(message);
    CHECK(core::to_hex(message->uaid) + "/" + core::to_hex(message->key) == records[0].record.key);
}

TEST_CASE("the 201 waits for the log") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto exchange = world.begin(IngestWorld::post_data(target.path));
    CHECK_FALSE(exchange->answer);
    CHECK(world.notifications().empty());
    world.run_loops();
    REQUIRE(exchange->answer);
    CHECK(exchange->answer->status == 201);
}

TEST_CASE("of several faults the earliest in the order of checks is answered") {
    IngestWorld world{{.crypto_keys = {kFernetKey}}};
    const auto target = world.subscribed();
    const auto bound = world.subscribed(true);
    const auto unknown = world.new_target();
    const auto other_channel =
        world.path_of(target.uaid, core::ChannelId{core::random_uuid4()}, false);
    const auto other_key = client::P256Key::generate();
    const auto others_token =
        "/wpush/" + world.tokens_.seal_endpoint(target.uaid, target.channel,
                                                core::sha256(other_key.public_point()));
    const auto expired = world.vapid_header(world.jwt(world.claims(-61)));

    struct Row {
        int step;
        std::string path;
        std::string authorization;  ///< empty: none
        HttpReply expected;
    };
    const std::string bad_scheme = "Basic YTpi";
    const auto& ours = target.path;
    const std::vector<Row> rows{
        {1, "/wpush/v3/" + ours.substr(7), bad_scheme,
         error(404, "102", "Not Found", kNotAnEndpoint)},
        {2, "/wpush/" + std::string(66, 'A'), bad_scheme,
         error(404, "102", "Not Found", kNotAnEndpoint)},
        {3, "/wpush/v1/" + kFernetV2, bad_scheme,
         unauthorized("The Authorization scheme must be vapid, WebPush or Bearer.")},
        {4, "/wpush/v1/" + kFernetV2, expired, unauthorized("The VAPID token has expired (exp).")},
        {5, "/wpush/v1/" + kFernetV2, world.vapid_header(),
         error(404, "102", "Not Found", kNotAnEndpoint)},
        {5, "/wpush/v2/" + kFernetV1, "", error(404, "102", "Not Found", kNotAnEndpoint)},
        {6, "/wpush/v2/" + kFernetV2, "",
         unauthorized("This endpoint requires VAPID authorization.")},
        {6, "/wpush/v2/" + kFernetV2, world.vapid_header(),
         unauthorized("The VAPID public key is not the one of this subscription.")},
        {6, others_token, world.vapid_header(),
         unauthorized("The VAPID public key is not the one of this subscription.")},
        {7, unknown.path, world.vapid_header(), no_such_subscription()},
        {9, other_channel, world.vapid_header(), no_such_subscription()},
        {10, ours, world.vapid_header(), error(413, "104", "Payload Too Large", kTooLarge)},
    };
    for (const auto& row : rows) {
        CAPTURE(row.step, row.path);
        auto request = IngestWorld::post(row.path).without("TTL");
        request.body_too_large = true;
        if (!row.authorization.empty()) request = request.with("Authorization", row.authorization);
        CHECK(world.ask(request) == row.expected);
    }
    CHECK(world.notifications().empty());
}

TEST_CASE("the later checks of a send in their order") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto good = IngestWorld::post_data(target.path);

    // 11 before 12
    CHECK(world.ask(good.without("TTL").without("Content-Encoding")) ==
          error(400, "111", "Bad Request", kTtlRequired));
    // 12 before 13
    CHECK(world.ask(good.with("TTL", "-1").without("Content-Encoding")) ==
          error(400, "110", "Bad Request", "Content-Encoding must be aes128gcm or aesgcm."));
    CHECK(world.ask(good.with("Topic", "a b").without("Content-Encoding")) ==
          error(400, "110", "Bad Request", "Content-Encoding must be aes128gcm or aesgcm."));
    // 13
    CHECK(world.ask(good.with("TTL", "-1")) ==
          error(400, "114", "Bad Request", "TTL must be 0 or more."));
    CHECK(world.ask(good.with("Topic", "a b")) ==
          error(400, "113", "Bad Request",
                "Topic must be 1 to 32 characters from A-Z a-z 0-9 - _ (RFC 8030 5.4)."));
    CHECK(world.ask(good.with("Urgency", "urgent")) ==
          error(400, "null", "Bad Request",
                "Urgency must be one of very-low, low, normal, high (RFC 8030 5.3)."));
    CHECK(world.notifications().empty());
}

TEST_CASE("TTL is a signed decimal integer") {
    IngestWorld world;
    const auto target = world.subscribed();
    const std::vector<std::tuple<std::string, int, std::string>> rows{
        {"0", 201, "0"},
        {"60", 201, "60"},
        {"+60", 201, "60"},
        {"007", 201, "7"},
        {"2592000", 201, "2592000"},
        {"2592001", 201, "2592000"},
        {"9223372036854775807", 201, "2592000"},
        {"9223372036854775808", 201, "2592000"},
        {"-9223372036854775809", 400, "114"},
        {"", 400, "111"},
        {"10.5", 400, "111"},
        {"1e3", 400, "111"},
        {"0x10", 400, "111"},
        {"sixty", 400, "111"},
        {"60 s", 400, "111"},
        {"+", 400, "111"},
        {"+-5", 400, "114"},
        {"-", 400, "111"},
        {"-1", 400, "114"},
    };
    for (const auto& [text, status, in_force] : rows) {
        CAPTURE(text);
        const auto reply = world.ask(IngestWorld::post(target.path).with("TTL", text));
        CHECK(reply.status == status);
        if (status == 201) {
            CHECK(reply.header("TTL") == in_force);
            CHECK(header_of(world.notifications().back(), core::header::kTtl) == in_force);
        } else {
            CHECK(reply.body.find("\"errno\":" + in_force + ",") != std::string::npos);
        }
    }
}

TEST_CASE("a Topic is up to 32 base64url characters, padding counted") {
    IngestWorld world;
    const auto target = world.subscribed();
    const std::vector<std::tuple<std::string, int>> rows{
        {"a", 201},
        {"Az09-_", 201},
        {"Inbox==", 201},
        {std::string(32, 'x'), 201},
        {std::string(31, 'x') + "=", 201},
        {std::string(33, 'x'), 400},
        {std::string(32, 'x') + "=", 400},
        {"", 400},
        {"=", 400},
        {"a=b", 400},
        {"a+b", 400},
        {"a/b", 400},
        {"a b", 400},
    };
    for (const auto& [topic, status] : rows) {
        CAPTURE(topic);
        const auto reply = world.ask(IngestWorld::post(target.path).with("Topic", topic));
        CHECK(reply.status == status);
        if (status == 201) {
            CHECK(header_of(world.notifications().back(), core::header::kTopic) == topic);
        }
    }
}

TEST_CASE("Urgency is validated, stored and forwarded") {
    IngestWorld world;
    const auto target = world.subscribed();
    const std::vector<std::tuple<std::string, int, std::string>> rows{
        {"very-low", 201, "very-low"}, {"low", 201, "low"}, {"normal", 201, "normal"},
        {"HIGH", 201, "high"},         {"", 400, ""},       {"low, high", 400, ""},
        {"very-very-low", 400, ""},
    };
    for (const auto& [text, status, stored] : rows) {
        CAPTURE(text);
        CHECK(world.ask(IngestWorld::post(target.path).with("Urgency", text)).status == status);
        if (status == 201) {
            CHECK(header_of(world.notifications().back(), core::header::kUrgency) == stored);
        }
    }
}

TEST_CASE("an empty body is a message without data and carries no encryption headers") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto reply = world.ask(IngestWorld::post(target.path)
                                     .with("Content-Encoding", "nonsense")
                                     .with("Encryption", "salt=AAAA")
                                     .with("Crypto-Key", "dh=BBBB"));
    CHECK(reply.status == 201);
    const auto record = world.notifications().at(0);
    CHECK(record.record.value == "");  // empty, not null: that would be a tombstone
    CHECK(header_of(record, core::header::kEncoding) == "(absent)");
    CHECK(header_of(record, core::header::kEncryption) == "(absent)");
    CHECK(header_of(record, core::header::kCryptoKey) == "(absent)");
}

TEST_CASE("the fields of a request travel in the event") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto reply = world.ask(
        IngestWorld::post(target.path)
            .with("Content-Encoding", "aesgcm")
            .with("Encryption", R"(keyid="a";salt="XZwpw6o37R-6qoZjw6KwAw==")")
            .with("Crypto-Key", "keyid=a;dh=BJgV==")
            .with("Topic", "news")
            .with("Prefer", "respond-async")
            .with("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
            .with_body(std::string("\0\xff"
                                   "binary",
                                   8)));
    CHECK(reply.status == 202);
    const auto record = world.notifications().at(0);
    CHECK(record.record.value == std::string("\0\xff"
                                             "binary",
                                             8));
    CHECK(header_of(record, core::header::kSubject) == core::to_dashed(target.channel));
    CHECK(header_of(record, core::header::kEncoding) == "aesgcm");
    CHECK(header_of(record, core::header::kEncryption) == "keyid=a;salt=XZwpw6o37R-6qoZjw6KwAw");
    CHECK(header_of(record, core::header::kCryptoKey) == "keyid=a;dh=BJgV");
    CHECK(header_of(record, core::header::kTopic) == "news");
    CHECK(core::parse_receipt(header_of(record, core::kReceiptHeader)));
    CHECK(header_of(record, core::header::kTraceparent) ==
          "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
}

TEST_CASE("Fernet endpoints of an installation that moved here go on working") {
    IngestWorld world{{.crypto_keys = {kFernetKey}}};
    world.subscribe(kFernetUaid, kFernetChannel);
    world.run_loops();
    CHECK(world.ask(IngestWorld::post_data("/wpush/v1/" + kFernetV1)).status == 201);
    CHECK(world.ask(IngestWorld::post_data("/wpush/" + kFernetV1)).status == 201);
    CHECK(world.notifications().size() == 2);
}

TEST_CASE("a token of another key ring is no endpoint of ours") {
    IngestWorld world;
    const auto target = world.subscribed();
    core::Tokens others{std::make_shared<core::KeyRing>(core::KeyRing::generate())};
    const auto path = "/wpush/" + others.seal_endpoint(target.uaid, target.channel);
    const auto not_found = error(404, "102", "Not Found", kNotAnEndpoint);
    CHECK(world.ask(IngestWorld::post_data(path)) == not_found);
    const auto cut = target.path.substr(0, target.path.size() - 1);
    CHECK(world.ask(IngestWorld::post_data(cut)) == not_found);
    CHECK(world.ask(IngestWorld::post_data("/wpush/%00%ff")) == not_found);
    CHECK(world.notifications().empty());
}

TEST_CASE("without the log there is no 201 but a 503 that says when to come back") {
    IngestWorld world;
    const auto target = world.subscribed();
    world.log_->set_away(true);
    CHECK(world.ask(IngestWorld::post_data(target.path)) ==
          unavailable("201", "The message could not be saved; try again later."));
    world.log_->set_away(false);
    CHECK(world.notifications().empty());
    CHECK(world.ask(IngestWorld::post_data(target.path)).status == 201);
}

TEST_CASE("a lost answer of the log is never a 201") {
    IngestWorld world;
    const auto target = world.subscribed();
    world.log_->lose_next_answers(1);
    CHECK(world.ask(IngestWorld::post_data(target.path)).status == 503);
}

TEST_CASE("messages and bytes that wait for the log are bounded") {
    SECTION("bytes") {
        IngestWorld world{{.publish_bytes_max = 700}};  // two small records, not three
        const auto target = world.subscribed();
        const auto first = world.begin(IngestWorld::post_data(target.path));
        const auto second = world.begin(IngestWorld::post_data(target.path));
        const auto third = world.begin(IngestWorld::post_data(target.path));
        REQUIRE(third->answer);
        CHECK(*third->answer ==
              unavailable("201", "Too much is waiting for the log; try again later."));
        world.run_loops();
        CHECK(first->answer->status == 201);
        CHECK(second->answer->status == 201);
        CHECK(world.ask(IngestWorld::post_data(target.path)).status == 201);
    }
    SECTION("bytes of headers") {
        IngestWorld world{{.publish_bytes_max = 3'000}};
        const auto target = world.subscribed();
        const auto large =
            IngestWorld::post(target.path)
                .with("Content-Encoding", "aesgcm")
                .with("Encryption", "salt=" + std::string(22, 'a'))
                .with("Crypto-Key", "dh=" + std::string(87, 'a') + ";x=" + std::string(4'000, 'a'))
                .with_body("ciphertext");
        CHECK(world.ask(large).status == 503);
        CHECK(world.notifications().empty());
        CHECK(world.ask(IngestWorld::post_data(target.path)).status == 201);
    }
    SECTION("messages") {
        IngestWorld world{{.waiting_max = 2}};
        const auto target = world.subscribed();
        const auto first = world.begin(IngestWorld::post_data(target.path));
        const auto second = world.begin(IngestWorld::post_data(target.path));
        const auto third = world.begin(IngestWorld::post_data(target.path));
        world.run_loops();
        CHECK(first->answer->status == 201);
        CHECK(second->answer->status == 201);
        CHECK(*third->answer ==
              unavailable("201", "Too many messages are waiting; try again later."));
    }
}

TEST_CASE("messages beyond those that may wait for the log get 503, and later there is space") {
    IngestWorld world{{.publish_bytes_max = 64U << 20, .waiting_max = 10'000}};
    const auto target = world.subscribed();
    for (std::size_t i = 0; i < ingest::PublishBudget::kRecordsMax; ++i) {
        world.begin(IngestWorld::post_data(target.path));
    }
    const auto refused = world.begin(IngestWorld::post_data(target.path));
    REQUIRE(refused->answer);
    CHECK(*refused->answer ==
          unavailable("201", "Too much is waiting for the log; try again later."));
    world.run_loops();
    CHECK(world.notifications().size() == ingest::PublishBudget::kRecordsMax);
    CHECK(world.ask(IngestWorld::post_data(target.path)).status == 201);
}

TEST_CASE("messages of tracked VAPID keys get a reliability id") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto tracked_key = core::sha256(world.vapid_.public_point());
    IngestWorld tracking{{.tracked = {tracked_key}}};
    const auto there = tracking.subscribed();

    CHECK(world
              .ask(IngestWorld::post(target.path)
                       .with("Authorization", world.vapid_header())
                       .with("X-MessageId", "mine"))
              .status == 201);
    CHECK(header_of(world.notifications().at(0), core::header::kReliabilityId) == "(absent)");

    const auto authorization = world.vapid_header();
    CHECK(tracking.ask(IngestWorld::post(there.path).with("X-MessageId", "mine")).status == 201);
    CHECK(tracking
              .ask(IngestWorld::post(there.path)
                       .with("Authorization", authorization)
                       .with("X-MessageId", "mine"))
              .status == 201);
    const auto without_id = IngestWorld::post(there.path).with("Authorization", authorization);
    CHECK(tracking.ask(without_id).status == 201);
    CHECK(tracking.ask(without_id.with("X-MessageId", "")).status == 201);
    const auto records = tracking.notifications();
    REQUIRE(records.size() == 4);
    CHECK(header_of(records[3], core::header::kReliabilityId).size() == 32);
    CHECK(header_of(records[0], core::header::kReliabilityId) == "(absent)");
    CHECK(header_of(records[1], core::header::kReliabilityId) == "mine");
    CHECK(header_of(records[2], core::header::kReliabilityId).size() == 32);
}

// Fails if the host's clock decides the end of the TTL: then the message counts as expired a week
// late.
TEST_CASE("a tracked message expires by the log's time, whatever the host's clock says") {
    constexpr auto kAhead = std::chrono::hours{24 * 8};
    IngestWorld keys;
    NotedMilestones milestones;
    IngestWorld world{{.tracked = {core::sha256(keys.vapid_.public_point())},
                       .milestones = &milestones,
                       .host_ahead = kAhead}};
    const auto target = world.subscribed();
    const auto post = IngestWorld::post(target.path).with("Authorization", keys.vapid_header());
    for (const auto* id : {"a", "b"}) {  // the report of the first one tells the log's time
        CHECK(world.ask(post.with("X-MessageId", id).with("TTL", "60")).status == 201);
    }
    const auto log_now = world.clock_.wall() - kAhead;
    CHECK(milestones.last_expires <= log_now + std::chrono::seconds{60});
    CHECK(milestones.last_expires > log_now + std::chrono::seconds{50});
}

TEST_CASE("of a tracked message it is reported that it was received, and that it failed") {
    IngestWorld keys;
    NotedMilestones milestones;
    IngestWorld world{
        {.tracked = {core::sha256(keys.vapid_.public_point())}, .milestones = &milestones}};
    const auto target = world.subscribed();
    const auto post = IngestWorld::post(target.path).with("Authorization", keys.vapid_header());
    CHECK(world.ask(IngestWorld::post(target.path)).status == 201);
    CHECK(milestones.noted.empty());
    CHECK(world.ask(post.with("X-MessageId", "a").with("TTL", "60")).status == 201);
    CHECK(milestones.last_expires <= world.clock_.wall() + std::chrono::seconds{60});
    CHECK(milestones.last_expires > world.clock_.wall() + std::chrono::seconds{50});
    CHECK(world.ask(post.with("X-MessageId", "b").with("Topic", "no good topic")).status == 400);
    world.log_->set_away(true);
    CHECK(world.ask(post.with("X-MessageId", "c")).status == 503);  // it may be there all the same
    CHECK(milestones.noted == std::vector<std::string>{"a received", "c received"});
}

TEST_CASE("a message that the log certainly refused is reported as failed") {
    IngestWorld keys;
    NotedMilestones milestones;
    IngestWorld world{{.waiting_max = 2,
                       .tracked = {core::sha256(keys.vapid_.public_point())},
                       .milestones = &milestones}};
    const auto target = world.subscribed();
    const auto post = IngestWorld::post(target.path).with("Authorization", keys.vapid_header());
    const auto first = world.begin(post.with("X-MessageId", "a"));
    const auto second = world.begin(post.with("X-MessageId", "b"));
    const auto third = world.begin(post.with("X-MessageId", "c"));
    world.run_loops();
    CHECK(first->answer->status == 201);
    CHECK(second->answer->status == 201);
    CHECK(third->answer->status == 503);
    CHECK(milestones.noted ==
          std::vector<std::string>{"a received", "b received", "c received", "c errored"});
}

TEST_CASE("an X-MessageId that is no reliability id is not taken for one") {
    IngestWorld keys;
    IngestWorld world{{.tracked = {core::sha256(keys.vapid_.public_point())}}};
    const auto target = world.subscribed();
    const auto post = IngestWorld::post(target.path).with("Authorization", keys.vapid_header());
    CHECK(world.ask(post.with("X-MessageId", "!barrier/0123")).status == 201);
    CHECK(world.ask(post.with("X-MessageId", std::string(129, 'x'))).status == 201);
    for (const auto& record : world.notifications()) {
        CHECK(header_of(record, core::header::kReliabilityId).size() == 32);
    }
}

TEST_CASE("requests per address are limited, behind a trusted proxy by the client's address") {
    IngestWorld world{{.requests_per_second = 2, .trusted_proxies = {"192.0.2.0/24"}}};
    const auto target = world.subscribed();
    const auto from = [&](const std::string& client) {
        return world.begin(IngestWorld::post(target.path).with("X-Forwarded-For", client));
    };
    const auto first = from("198.51.100.1");
    const auto second = from("198.51.100.1");
    const auto third = from("198.51.100.1");
    const auto other = from("198.51.100.2");
    world.run_loops();
    CHECK(first->answer->status == 201);
    CHECK(second->answer->status == 201);
    HttpReply like;
    like.add("Retry-After", "1");
    CHECK(*third->answer ==
          error(429, "null", "Too Many Requests", "Too many requests from this address.", like));
    CHECK(other->answer->status == 201);
    world.run_loops(std::chrono::seconds{1});
    CHECK(
        world.ask(IngestWorld::post(target.path).with("X-Forwarded-For", "198.51.100.1")).status ==
        201);
}

TEST_CASE("DELETE of a message publishes its tombstone and answers 204 when it is durable") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto sent = world.ask(IngestWorld::post_data(target.path));
    const auto location = std::string{*sent.header("Location")};
    const auto path = location.substr(IngestWorld::kOrigin.size());
    const TestRequest request{.method = "DELETE", .target = path, .headers = {}, .body = {}};

    SECTION("and no sooner") {
        const auto exchange = world.begin(request);
        CHECK_FALSE(exchange->answer);
        world.run_loops();
        HttpReply expected;
        expected.status = 204;
        expected.add("Vary", std::string{IngestWorld::kVary});
        CHECK(exchange->answer == expected);
        const auto records = world.notifications();
        REQUIRE(records.size() == 2);
        CHECK(records[1].record.key == records[0].record.key);
        CHECK_FALSE(records[1].record.value);
        CHECK(header_of(records[1], core::header::kReason) == "deleted");
    }
    SECTION("without the log: 503") {
        world.log_->set_away(true);
        CHECK(world.ask(request) ==
              unavailable("null", "The service is not available at present; try again later."));
    }
    SECTION("whether or not anything is there") {
        const auto removed = world.ask(request);
        CHECK(removed.status == 204);
        CHECK(world.ask(request) == removed);
        const core::MessageRef nobodys{core::Uaid{core::random_uuid4()},
                                       core::new_message_key(world.clock_.wall())};
        CHECK(world.ask(request.to("/m/" + world.tokens_.seal_message(nobodys))) == removed);
    }
    SECTION("what is no message id is refused") {
        const auto bad =
            error(400, "null", "Bad Request", "This is not a message id of this service.");
        CHECK(world.ask(TestRequest{.method = "DELETE", .target = "/m/abc"}) == bad);
        const auto token = target.path.substr(7);
        CHECK(world.ask(TestRequest{.method = "DELETE", .target = "/m/" + token}) == bad);
        CHECK(world.notifications().size() == 1);
    }
}
