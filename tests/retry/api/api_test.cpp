// The role's HTTP API over the memory log: the answer to each request, and the data that each owner
// sees.
#include "retry/api/api.hpp"

#include "core/contain.hpp"
#include "core/json_parts.hpp"
#include "retry/api/event_api.hpp"
#include "retry/api/own_headers.hpp"
#include "retry/api/owner_token.hpp"
#include "retry/api/webhook_body.hpp"
#include "retry/role/node_world.hpp"
#include "support/allocations.hpp"
#include "support/record_view.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <set>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;
using Json = nlohmann::json;
using Verb = net::Method;

namespace {

constexpr core::Partition kPartitions = 2;

struct World : test::NodeWorld {
    enum class Start : std::uint8_t { now, later };

    explicit World(Api::Options options = {}, Start when = Start::now)
        : NodeWorld(kPartitions), api(std::move(options), node, clock, keys) {
        if (when == Start::now) start();
    }
    void start() { executor.run_for(20s); }

    std::string token(const std::string& owner, bool to_all = false) const {
        return *make_token(*keys, {.owner = owner, .publishes_to_all = to_all});
    }
    ApiRequest request(Verb method, const std::string& target, const Json& body = {},
                       const std::string& owner = "shop") const {
        return {.method = method,
                .target = target,
                .authorization = "Bearer " + token(owner),
                .content_type = target.starts_with("/events") ? "application/cloudevents+json"
                                                              : "application/json",
                .ce = {},
                .body = body.is_null() ? "" : body.dump()};
    }
    net::HttpReply ask(Verb method, const std::string& target, const Json& body = {},
                       const std::string& owner = "shop") {
        return ask(request(method, target, body, owner));
    }
    Json get(const std::string& target, const std::string& owner = "shop") {
        return Json::parse(ask(Verb::get, target, {}, owner).body);
    }
    net::HttpReply ask(const ApiRequest& request) {
        return ask_at_once(std::vector{request}, 1s).front();
    }
    /// Requests that come before the first of them is answered.
    std::vector<net::HttpReply> ask_at_once(const std::vector<ApiRequest>& requests,
                                            core::Duration wait = 60s) {
        const auto replies =
            std::make_shared<std::vector<std::optional<net::HttpReply>>>(requests.size());
        for (std::size_t i = 0; i < requests.size(); ++i) {
            api.handle(requests[i],
                       [replies, i](net::HttpReply one) { (*replies)[i] = std::move(one); });
        }
        executor.run_for(wait);
        std::vector<net::HttpReply> all;
        for (const auto& reply : *replies) {
            REQUIRE(reply);
            all.push_back(*reply);
        }
        return all;
    }
    std::map<int, int> statuses_at_once(const std::vector<ApiRequest>& requests) {
        std::map<int, int> statuses;
        for (const auto& reply : ask_at_once(requests)) ++statuses[reply.status];
        return statuses;
    }
    std::string make(const std::string& url, const std::string& owner = "shop") {
        const auto made = ask(Verb::post, "/webhooks", {{"url", url}, {"types", {"t"}}}, owner);
        REQUIRE(made.status == 201);
        return Json::parse(made.body)["id"];
    }
    static Json event(const std::string& id) {
        return {{"specversion", "1.0"}, {"id", id}, {"source", "/s"}, {"type", "t"}};
    }

    test::Process process{*this, "a", {0s, 5s}};
    RetryNode& node = process.node;
    Api api;
};

/// A filter with so many terms, in lists of 256.
Json many_terms(int count, int different = 1'000'000) {
    Json lists = Json::array();
    for (int from = 0; from < count; from += 256) {
        Json terms = Json::array();
        for (int i = from; i < std::min(count, from + 256); ++i) {
            terms.push_back(std::to_string(i % different));
        }
        lists.push_back({{"terms", {{"data.id", terms}}}});
    }
    return {{"bool", {{"should", lists}}}};
}

std::string detail_of(const net::HttpReply& reply) { return Json::parse(reply.body)["detail"]; }

/// The fault of a change of the webhook, or "none".
std::string fault_of(Webhook& webhook, const std::string& body) {
    const auto changed = change(webhook, body, {});
    return changed ? "none" : changed.error().message;
}
std::string fault_of(Webhook& webhook, const Json& body) { return fault_of(webhook, body.dump()); }

/// A POST of an event with headers.
ApiRequest post_of(const World& world, const std::string& type, const std::string& body,
                   std::multimap<std::string, std::string> ce = {}) {
    auto request = world.request(Verb::post, "/events");
    request.content_type = type;
    request.ce = std::move(ce);
    request.body = body;
    return request;
}

std::multimap<std::string, std::string> ce_headers(const std::string& id = "1") {
    return {{"specversion", "1.0"}, {"id", id}, {"source", "/s"}, {"type", "t"}};
}

const std::string kBatchType = "application/cloudevents-batch+json";

}  // namespace

TEST_CASE("a token names its caller, to the installation that made it", "[retry][api]") {
    const auto keys = core::KeyRing::generate();
    for (const Caller& caller :
         {Caller{.owner = "shop"}, Caller{.owner = "a-b_1", .publishes_to_all = true},
          operator_caller()}) {
        const auto token = make_token(keys, caller);
        REQUIRE(token);
        CHECK(check_token(keys, *token) == caller);
        const auto rotated = *keys.rotated();
        CHECK(check_token(rotated, *token) == caller);
        // A process with the old ring accepts a token that a caller makes with the oldest key of
        // the new ring.
        CHECK(check_token(keys, *make_token(rotated.keys().front(), caller)) == caller);
        CHECK_FALSE(check_token(keys, *make_token(rotated, caller)));
        CHECK_FALSE(check_token(core::KeyRing::generate(), *token));
        for (std::size_t i = 0; i < token->size(); ++i) {
            auto other = *token;
            other[i] = other[i] == 'x' ? 'y' : 'x';
            CAPTURE(other);
            CHECK_FALSE(check_token(keys, other));
        }
    }
    const auto plain = *make_token(keys, {.owner = "shop"});
    CHECK(check_token(keys, plain) == Caller{.owner = "shop"});
    for (const auto* behind : {"=", "==", "===", " ", "A", ".", "\n"}) {  // one token has one text
        CAPTURE(behind);
        CHECK_FALSE(check_token(keys, plain + behind));
        CHECK_FALSE(check_token(keys, behind + plain));
    }
    CHECK_FALSE(make_token(keys, {.owner = "a.all"}));
    CHECK_FALSE(make_token(keys, {.owner = ""}));
    CHECK_FALSE(check_token(keys, ""));
}

TEST_CASE("a token of a key that the process lacks is refused, and the process looks for the key",
          "[api]") {
    int looked = 0;
    World world{{.guard = {}, .key_missing = [&looked] { ++looked; }}};
    const auto rotated = *world.keys->rotated();
    auto request = world.request(Verb::get, "/webhooks");
    const auto status_with = [&](const std::string& token) {
        request.authorization = "Bearer " + token;
        return world.ask(request).status;
    };
    CHECK(status_with(*make_token(rotated, {.owner = "shop"})) == 401);
    CHECK(looked == 1);
    CHECK(status_with(world.token("shop")) == 200);
    CHECK(status_with(world.token("shop") + "x") == 401);
    CHECK(status_with("shop.nonsense") == 401);
    CHECK(looked == 1);
}

TEST_CASE("a POST that waits is answered with the first attempts at the caller's webhooks",
          "[retry][api]") {
    World world;
    const auto mine = world.make("https://mine.example/");
    world.make("https://theirs.example/", "other");
    world.answered = 503;
    auto request = world.request(Verb::post, "/events?wait=10", World::event("e1"));
    request.authorization = "Bearer " + world.token("shop", true);  // others' get the event too
    const auto reply = world.ask(request);
    CHECK(reply.status == 200);
    const auto page = Json::parse(reply.body);
    CHECK(page["id"] == "e1");
    CHECK(page["expected"] == 1);
    CHECK(page["complete"] == true);
    REQUIRE(page["attempts"].size() == 1);
    CHECK(page["attempts"][0]["webhook"] == mine);
    CHECK(page["attempts"][0]["status"] == 503);
    CHECK(page["attempts"][0]["outcome"] == "refused");
    CHECK(world.received["https://theirs.example/"].size() == 1);

    request.body = World::event("e2").dump();
    request.target = "/events";
    CHECK(world.ask(request).status == 202);
}

TEST_CASE("a POST that waits is answered when its time is over, and only once the log has it",
          "[retry][api]") {
    World world;
    const auto id = world.make("https://mine.example/");
    world.answered = 500;
    world.ask(Verb::post, "/events", World::event("e0"));
    const auto posted = [&](const std::string& event) {
        const auto request = world.request(Verb::post, "/events?wait=3", World::event(event));
        auto answered = std::make_shared<std::optional<net::HttpReply>>();
        world.api.handle(request,
                         [answered](net::HttpReply reply) { *answered = std::move(reply); });
        return answered;
    };
    const auto again = posted("e0");  // a copy, which is not delivered
    world.executor.run_for(2s);
    CHECK_FALSE(*again);
    world.executor.run_for(2s);
    REQUIRE(*again);
    CHECK((*again)->status == 200);
    CHECK(Json::parse((*again)->body)["complete"] == false);
    CHECK(Json::parse((*again)->body)["attempts"].empty());

    world.log->set_away(true);
    const auto unwritten = posted("e1");
    world.executor.run_for(20s);
    REQUIRE(*unwritten);
    CHECK((*unwritten)->status == 503);
}

TEST_CASE("headers in quotes are taken, doubled ones and other charsets are refused",
          "[retry][api]") {
    World world;
    world.make("https://a.example/");
    auto headers = ce_headers();
    headers.emplace("subject", R"("a \"b\" \\ %C3%A9")");
    headers.emplace("note", "100%");
    CHECK(world.ask(post_of(world, "", "", headers)).status == 202);
    REQUIRE(world.bodies.size() == 1);
    CHECK(Json::parse(world.bodies[0])["subject"] == "a \"b\" \\ \xc3\xa9");
    CHECK(Json::parse(world.bodies[0])["note"] == "100%");

    headers.emplace("id", "2");
    const auto doubled = world.ask(post_of(world, "", "", headers));
    CHECK(doubled.status == 400);
    CHECK(detail_of(doubled) == "$.id stands twice");
    auto bad = ce_headers("%FF");
    CHECK(detail_of(world.ask(post_of(world, "", "", bad))) == "$.id must be UTF-8");

    const auto body = World::event("3").dump();
    for (const auto& type : {std::string{"application/cloudevents+json; charset=iso-8859-1"},
                             kBatchType + ";charset=utf-16"}) {
        const auto refused = world.ask(post_of(world, type, body));
        CHECK(refused.status == 415);
        CHECK(detail_of(refused).ends_with("must be utf-8"));
    }
    CHECK(world.ask(post_of(world, "application/json", body)).status == 415);
    const std::string large(kEventBytesMax, 'x');
    CHECK(world.ask(post_of(world, "text/plain", large, ce_headers("4"))).status == 413);
}

TEST_CASE("each event of a batch is answered for itself", "[retry][api]") {
    World world;
    world.make("https://a.example/");
    auto foreign = World::event("4");
    foreign["beckonowner"] = "other";
    auto own_type = World::event("5");
    own_type["type"] = "beckon.mine";
    const std::string batch = "[" + World::event("1").dump() + ", 7 ," + World::event("2").dump() +
                              R"(,{"specversion":"1.0","id":"3"},)" + foreign.dump() + "," +
                              own_type.dump() + "]";
    const auto reply = world.ask(post_of(world, kBatchType, batch));
    CHECK(reply.status == 207);
    const auto answers = Json::parse(reply.body)["events"];
    REQUIRE(answers.size() == 6);
    CHECK(answers[0] == Json{{"status", 202}, {"source", "/s"}, {"id", "1"}});
    CHECK(answers[1]["status"] == 400);
    CHECK(answers[1]["detail"] == "$[1] must be an object");
    CHECK(answers[2]["status"] == 202);
    CHECK(answers[3]["code"] == "invalid");
    CHECK(answers[3]["detail"] == "$[3].source is missing");
    CHECK(answers[4]["status"] == 403);
    CHECK(answers[5]["detail"].get<std::string>().starts_with("$[5].type must not begin"));
    CHECK(world.bodies.size() == 2);

    const auto good = "[" + World::event("6").dump() + "," + World::event("7").dump() + "]";
    CHECK(world.ask(post_of(world, kBatchType, good)).status == 202);
    CHECK(world.bodies.size() == 4);
    CHECK(world.ask(post_of(world, kBatchType, "[]")).body == R"({"events":[]})");
    const auto detail = [&](const std::string& body) {
        const auto refused = world.ask(post_of(world, kBatchType, body));
        CHECK(refused.status == 400);
        return detail_of(refused);
    };
    CHECK(detail("{}") == "$ must be a list");
    CHECK(detail("[1,]") == "$ is not JSON (byte 4)");
    std::string many = "[1";
    for (std::size_t i = 0; i < kBatchEventsMax; ++i) many += ",1";
    CHECK(detail(many + "]") == "$ may have 1000 events in one batch");
    auto waiting = post_of(world, kBatchType, good);
    waiting.target = "/events?wait=3";
    CHECK(detail_of(world.ask(waiting)) == "wait goes with one event, not with a batch");
}

TEST_CASE("a batch is posted in parts, between which the thread has its other turns",
          "[retry][api][bounds]") {
    World world;
    std::string batch = "[" + World::event("0").dump();
    for (std::size_t i = 1; i < kBatchEventsMax; ++i) {
        batch += "," + World::event(std::to_string(i)).dump();
    }
    std::optional<net::HttpReply> reply;
    world.api.handle(post_of(world, kBatchType, batch + "]"),
                     [&reply](net::HttpReply one) { reply = std::move(one); });
    // So many events are more than an owner may have waiting, so if all were posted now, no more
    // could be.
    const auto next = *parse_structured(World::event("next").dump());
    CHECK(world.node.may_post(next, "shop"));
    world.executor.run_for(1s);
    REQUIRE(reply);
    const auto answers = Json::parse(reply->body)["events"];
    REQUIRE(answers.size() == kBatchEventsMax);
    for (std::size_t i = 0; i < kBatchEventsMax; ++i) {
        if (answers[i]["status"] == 202) CHECK(answers[i]["id"] == std::to_string(i));
    }
    CHECK(answers[0]["status"] == 202);
    CHECK(answers[kBatchEventsMax - 1]["status"] == 429);
}

TEST_CASE("a batch counts as so many events, and the answer names each that the log does not take",
          "[retry][api]") {
    World world{{.guard = {}, .events_per_owner_per_second = 2}};
    const auto three = "[" + World::event("1").dump() + "," + World::event("2").dump() + "," +
                       World::event("3").dump() + "]";
    const auto reply = world.ask(post_of(world, kBatchType, three));
    CHECK(reply.status == 207);
    CHECK(Json::parse(reply.body)["events"][1]["status"] == 202);
    CHECK(Json::parse(reply.body)["events"][2]["code"] == "too_many_requests");

    world.executor.run_for(2s);
    world.log->set_away(true);
    const auto answered =
        world.ask_at_once({post_of(world, kBatchType, "[" + World::event("9").dump() + "]")})[0];
    CHECK(answered.status == 207);
    const auto answer = Json::parse(answered.body)["events"][0];
    CHECK(answer["id"] == "9");
    CHECK(answer["status"] == 503);
    CHECK(answer["code"] == "not_saved");
}

TEST_CASE("a webhook in binary mode has neither attachments nor a form", "[retry][api]") {
    Webhook webhook;
    const auto fault = [&](const std::string& body) { return fault_of(webhook, body); };
    CHECK(fault(R"({"url": "https://a.example/", "mode": "binary"})") == "none");
    CHECK(webhook.mode == ContentMode::binary);
    CHECK(fault(R"({"encoding": "multipart"})") ==
          "$.mode must be \"structured\" where $.encoding is \"multipart\"");
    webhook.encoding = Encoding::json;
    CHECK(fault(R"({"attachments": {"a": "id"}})")
              .starts_with("$.mode must be \"structured\" where"));
    CHECK(fault(R"({"mode": null})") == "none");
    CHECK(webhook.mode == ContentMode::structured);
    CHECK(fault(R"({"mode": "Binary"})") == "$.mode must be \"structured\" or \"binary\"");
}

TEST_CASE("a webhook's own headers are few, short and not Beckon's", "[retry][api]") {
    Webhook webhook;
    const auto fault = [&](const Json& headers) {
        return fault_of(webhook, Json{{"url", "https://a.example/"}, {"headers", headers}});
    };
    CHECK(fault({{"X-Key", "a b"}, {"Authorization", "Bearer t"}}) == "none");
    CHECK(webhook.headers == OwnHeaders{{"X-Key", "a b"}, {"Authorization", "Bearer t"}});
    CHECK(fault({{"Contents", "1"}, {"X-Content-Kind", "2"}}) == "none");
    for (const auto* name :
         {"Webhook-Signature", "webhook-x", "Beckon-Attempt", "CE-id", "Proxy-Authorization",
          "HOST", "Connection", "Transfer-Encoding", "Content-Length", "content-type", "TE",
          "Upgrade", "Content-Range", "Content-Disposition", "content-language", "CONTENT-MD5",
          "Content-", "Content-Of-Tomorrow"}) {
        CAPTURE(name);
        CHECK(fault({{name, "x"}}).find("is set by Beckon or by the connection") !=
              std::string::npos);
    }
    for (const auto& name :
         {std::string{}, std::string{"a b"}, std::string{"a:"}, std::string{"a\r\nb"},
          std::string{"\xc3\xa9"}, std::string(kHeaderNameBytesMax + 1, 'n')}) {
        CHECK(fault({{name, "x"}}).starts_with("a name in $.headers must have 1 to 64"));
    }
    for (const auto& value :
         {std::string{}, std::string{" a"}, std::string{"a\r\nb: c"}, std::string{"caf\xc3\xa9"},
          std::string(kHeaderValueBytesMax + 1, 'v')}) {
        CHECK(fault({{"a", value}}) ==
              "$.headers.a must have 1 to 1024 printable ASCII characters without blanks around "
              "them");
    }
    CHECK(fault({{"a", "1"}, {"A", "2"}}) == "$.headers.a stands twice");
    CHECK(fault({{"a", 1}}) == "$.headers.a must be a string");
    CHECK(fault("x") == "$.headers must be an object of names and texts");
    Json many = Json::object();
    for (std::size_t i = 0; i <= kOwnHeadersMax; ++i) many["n" + std::to_string(i)] = "v";
    CHECK(fault(many).starts_with("$.headers may be 16"));
    Json large = Json::object();
    for (const auto* name : {"a", "b", "c", "d"})
        large[name] = std::string(kHeaderValueBytesMax, 'v');
    CHECK(fault(large).starts_with("$.headers may be 16"));
    CHECK(fault(nullptr) == "none");
    CHECK(webhook.headers.empty());
}

TEST_CASE("a webhook's URL has a host, and a port that a receiver can have", "[retry][api]") {
    Webhook webhook;
    const auto fault = [&](const std::string& url) {
        return fault_of(webhook, Json{{"url", url}});
    };
    for (const auto* url : {"http:///x", "https:////a.example/"}) {
        CHECK(fault(url) == "$.url must have a host behind https:// or http://");
    }
    for (const auto* url : {"http://a.example:0/", "https://a.example:00000"}) {
        CHECK(fault(url) == "$.url is no URL: the port must be a number from 1 to 65535");
    }
    for (const auto* url : {"http://", "http://:80/", "http://a.example:65536/"}) {
        CHECK(fault(url).starts_with("$.url"));
    }
    for (const auto* url : {"http://a.example:1/", "https://a.example:65535", "https://a.example:"})
        CHECK(fault(url) == "none");
}

TEST_CASE("a user name in the URL becomes a header and leaves the URL", "[retry][api]") {
    Webhook webhook;
    const auto fault = [&](const std::string& url, const Json& more = Json::object()) {
        auto body = more;
        body["url"] = url;
        return fault_of(webhook, body);
    };
    CHECK(fault("https://Aladdin:open%20sesame@a.example/hook@1?x=@",
                {{"headers", {{"authorization", "x"}}}}) == "none");
    CHECK(webhook.url == "https://a.example/hook@1?x=@");
    CHECK(webhook.headers == OwnHeaders{{"Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}});
    CHECK(fault("https://b.example") == "none");  // existing credentials stay
    CHECK(webhook.headers.size() == 1);
    CHECK(fault("https://token@b.example") == "none");
    CHECK(webhook.url == "https://b.example/");
    CHECK(webhook.headers.at("Authorization") == "Basic dG9rZW46");
    CHECK(fault("https://:only%20password@b.example") == "none");
    CHECK(webhook.headers.at("Authorization") == "Basic Om9ubHkgcGFzc3dvcmQ=");
    CHECK(fault("https://%C3%BC:%E2%82%AC@b.example") == "none");
    CHECK(webhook.headers.at("Authorization") == "Basic w7w64oKs");
    // Nothing stands before the @: there are no credentials, and the former ones stay.
    for (const auto* url : {"https://@b.example/empty", "https://:@b.example/empty"}) {
        CAPTURE(url);
        CHECK(fault(url) == "none");
        CHECK(webhook.url == "https://b.example/empty");
        CHECK(webhook.headers.at("Authorization") == "Basic w7w64oKs");
    }
    for (const auto* user : {"us%0Aer:password", "us%00er:password", "user:pass%0Dword", "%7F:p"}) {
        CAPTURE(user);
        CHECK(fault(std::string{"https://"}.append(user).append("@b.example"))
                  .starts_with("$.url may have a user name and a password without control"));
    }
    CHECK(webhook.url == "https://b.example/empty");
    const auto of_bytes = [&](std::size_t user, std::size_t password) {
        return fault(std::string{"https://"}
                         .append(user, 'u')
                         .append(":")
                         .append(password, 'p')
                         .append("@b.example"));
    };
    CHECK(of_bytes(256, 255) == "none");
    CHECK(of_bytes(256, 256).starts_with("$.url may have a user name without a colon"));
    CHECK(fault("https://a%3Ab:c@b.example")
              .starts_with("$.url may have a user name without a colon"));
    CHECK(fault("https://b.example",
                {{"shared_key", {{"id", "k"}, {"secret", std::string(16, 's')}}}})
              .starts_with("$.shared_key makes the header Authorization"));
    CHECK_FALSE(fault("https://user@127.0.0.1/") == "none");
}

TEST_CASE("attempts show the target of a redirect, and the receiver's answer", "[retry][api]") {
    World world;
    const auto id = world.make("https://a.example/");
    world.answered = 302;
    CHECK(world.ask(Verb::post, "/webhooks/" + id + "/test").status == 202);
    const auto shown = world.get("/webhooks/" + id + "/attempts");
    const auto& attempt = shown["attempts"][0];
    CHECK(attempt["answer"] == "said");
    CHECK(attempt["why"].get<std::string>().starts_with(
        "it redirects to https://elsewhere.example/"));
}

namespace {

/// Throws when it is asked, as memory that has run out does.
struct ThrowingClock final : core::Clock {
    core::Timestamp wall() const override { return {}; }
    core::MonoTime mono() const override { throw std::bad_alloc{}; }
};

}  // namespace

TEST_CASE("a request whose handling throws is answered 500, and the next one is served",
          "[retry][api]") {
    World world;
    const ThrowingClock clock;  // a limit per second asks it for the time
    Api::Options options;
    options.events_per_owner_per_second = 1;
    Api failing{options, world.node, clock, world.keys};
    std::vector<int> statuses;
    const auto reply = [&](const net::HttpReply& answered) { statuses.push_back(answered.status); };
    const auto before = core::thrown_by_place()["retry"];
    failing.handle(post_of(world, "", "", ce_headers()), reply);
    CHECK(statuses == std::vector{500});
    CHECK(core::thrown_by_place()["retry"] == before + 1);
    CHECK(world.ask(post_of(world, "", "", ce_headers())).status == 202);
}

TEST_CASE("a wait that is too long is refused, and the error names the limit", "[retry][api]") {
    World world;
    for (const auto* query : {"?wait=0", "?wait=25", "?wait=x", "?wait=", "?wait=1s", "?wait=-1",
                              "?for=3", "?wait=3&for=3", "?wait=3&wait=4"}) {
        const auto reply = world.ask(Verb::post, std::string{"/events"} + query, World::event("e"));
        CHECK(reply.status == 400);
        CHECK(detail_of(reply) == "the query may be wait=<whole seconds from 1 to 24> alone");
    }
}

TEST_CASE("null gives a field its default back, and fields that are not named stay",
          "[retry][api]") {
    Webhook webhook;
    webhook.secrets = {std::string(32, 's')};
    const Json body{
        {"url", "https://a.example/"}, {"types", {"order.*"}}, {"timeout_s", 5}, {"ordered", true},
        {"filter", {{"ids", {1}}}},    {"description", "d"}};
    auto made = body;
    made.erase("filter");
    made["filter"] = {{"term", {{"data.a", 1}}}};
    REQUIRE(change(webhook, made.dump(), {}));
    const auto before = webhook;
    REQUIRE(change(webhook, R"({"description": null})", {}));
    CHECK(webhook.description.empty());
    CHECK(webhook.types == before.types);
    REQUIRE(change(webhook, R"({"types": null, "filter": null, "timeout_s": null})", {}));
    CHECK(webhook.types.empty());
    CHECK(webhook.filter.empty());
    CHECK(webhook.timeout == Webhook{}.timeout);
    CHECK(webhook.ordered);
    REQUIRE(change(webhook, R"({"timeout_s": 9.0})", {}));  // JSON has one kind of number
    CHECK(webhook.timeout == 9s);
    for (const auto* number : {"9.5", "0", "-1", "1e300", "\"9\"", "true"}) {
        CAPTURE(number);
        CHECK_FALSE(change(webhook, std::string{R"({"timeout_s": )"} + number + "}", {}));
    }
    CHECK_FALSE(change(webhook, R"({"url": null})", {}));
    CHECK_FALSE(change(webhook, "[]", {}));
    CHECK_FALSE(change(webhook, std::string(1'000, '['), {}));
    CHECK_FALSE(change(webhook, R"({"form_fields": {"a\r\nb": "c"}})", {}));
}

TEST_CASE("the origin that a receiver is asked for is a name, and makes the header Origin",
          "[retry][api]") {
    Webhook webhook;
    webhook.url = "https://a.example/";
    REQUIRE(change(webhook, R"({"request_origin": "events.example.com"})", {}));
    CHECK(webhook.request_origin == "events.example.com");
    for (const auto* bad : {"", "a b", "a\\r\\nb: c", "*", "https://a.example"}) {
        CAPTURE(bad);
        CHECK_FALSE(change(webhook, std::string{R"({"request_origin": ")"} + bad + "\"}", {}));
    }
    CHECK_FALSE(change(webhook, R"({"headers": {"origin": "x"}})", {}));
    REQUIRE(change(webhook, R"({"request_origin": null})", {}));
    CHECK(webhook.request_origin.empty());
}

TEST_CASE("the whole id of a shared key is checked", "[retry][api]") {
    const auto with_id = [](const std::string& id) {
        Webhook webhook;
        return change(webhook,
                      Json{{"url", "https://a.example/"},
                           {"shared_key", {{"id", id}, {"secret", "0123456789abcdef"}}}}
                          .dump(),
                      {});
    };
    CHECK(with_id(std::string(128, 'k')));
    CHECK_FALSE(with_id(std::string(129, 'k')));
    CHECK_FALSE(with_id(""));
    for (const std::string tail : {"\r\nX: y", "\n", "\"", "\\", "\x7f"}) {
        const auto refused = with_id(std::string(100, 'k') + tail);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().message ==
              "$.shared_key.id must have 1 to 128 characters, without quotes and control "
              "characters");
    }
}

TEST_CASE("an owner has no more webhooks than it may, also with requests at the same time",
          "[retry][api]") {
    World world{{.guard = {}, .webhooks_per_owner_max = 2}};
    const Json body{{"url", "https://a.example/"}};
    const std::vector requests(4, world.request(Verb::post, "/webhooks", body));
    CHECK(world.statuses_at_once(requests) == std::map<int, int>{{201, 2}, {409, 2}});
    CHECK(world.ask(Verb::post, "/webhooks", body, "other").status == 201);
}

TEST_CASE("an owner sees the memory of its webhooks, which is bounded", "[retry][api][bounds]") {
    World world{{.guard = {}, .memory = {.per_owner = 2 << 20, .in_all = 9 << 20}}};
    const auto make = [&](const std::string& owner, int terms) {
        return world.ask(Verb::post, "/webhooks",
                         {{"url", "https://a.example/"}, {"filter", many_terms(terms)}}, owner);
    };
    const auto small = Json::parse(make("shop", 10).body);
    CHECK(small["memory_bytes"] > 1'000);
    CHECK(small["memory_bytes"] < 20'000);
    const auto large = Json::parse(make("shop", 5'000).body);
    CHECK(large["memory_bytes"] > 2 * 5'000 * 32);
    const auto id = large["id"].get<std::string>();
    CHECK(world.get("/webhooks/" + id)["memory_bytes"] == large["memory_bytes"]);

    const auto refused = make("shop", 5'000);
    CHECK(refused.status == 409);
    CHECK(detail_of(refused).find("and the owner's together") != std::string::npos);
    CHECK(make("shop", 10).status == 201);
    // A change is checked too, without counting the version that it replaces.
    const auto changed = [&](int terms) {
        return world.ask(Verb::patch, "/webhooks/" + id, {{"filter", many_terms(terms)}}).status;
    };
    CHECK(changed(20'000) == 409);
    world.executor.run_for(60s);
    CHECK(changed(5'001) == 200);
    CHECK(changed(1) == 200);
    world.executor.run_for(60s);
    CHECK(make("shop", 5'000).status == 201);

    auto last = make("owner-0", 5'000);
    int others = 0;
    while (last.status == 201 && others < 10)
        last = make("owner-" + std::to_string(++others), 5'000);
    CHECK(others > 2);
    CHECK(others < 10);
    CHECK(last.status == 409);
    CHECK(detail_of(last).find("the webhooks of all owners hold") != std::string::npos);
}

TEST_CASE("webhooks that are made at the same time hold no more together than they may",
          "[retry][api][bounds]") {
    World world{{.guard = {}, .memory = {.per_owner = 2 << 20, .in_all = 100 << 20}}};
    const Json body{{"url", "https://a.example/"}, {"filter", many_terms(5'000)}};
    const std::vector requests(4, world.request(Verb::post, "/webhooks", body));
    CHECK(world.statuses_at_once(requests) == std::map<int, int>{{201, 1}, {409, 3}});
}

TEST_CASE("an owner changes its webhooks at a bounded rate, whatever its changes are",
          "[retry][api][bounds]") {
    World world{{.guard = {}, .memory = {.per_owner = 2 << 20, .in_all = 100 << 20}}};
    const auto id = world.make("https://a.example/");
    const auto change = [&](const std::string& owner, const std::string& of, const Json& to) {
        return world.ask(Verb::patch, "/webhooks/" + of, to, owner);
    };
    int changes = 0;
    auto last = change("shop", id, {{"filter", many_terms(2'000)}});
    for (; last.status == 200 && changes < 100; ++changes) {
        last = change("shop", id, {{"filter", many_terms(2'000 + changes % 2)}});
    }
    CHECK(changes >= 2);
    CHECK(changes < 20);
    CHECK(last.status == 429);
    CHECK(std::stoi(std::string{*last.header("Retry-After")}) > 1);
    CHECK(detail_of(last).find("has changed so many webhooks") != std::string::npos);
    CHECK(world.make("https://a.example/", "other").size() > 0);
    world.executor.run_for(60s);
    CHECK(change("shop", id, {{"filter", many_terms(10)}}).status == 200);
    // So many changes of the state, and rotations, that they take the quota too.
    std::map<int, int> statuses;
    for (int i = 0; i < 1'500; ++i) {
        const auto* action = i % 3 == 0 ? "/secret" : i % 3 == 1 ? "/disable" : "/enable";
        world.api.handle(world.request(Verb::post, "/webhooks/" + id + action),
                         [&](const auto& reply) { ++statuses[reply.status]; });
        world.executor.run_for(1ms);
    }
    world.executor.run_for(20s);  // one after the other
    CHECK(statuses[429] > 0);
    CHECK(statuses[200] + statuses[429] == 1'500);
}

// Fails where an owner may post any number of events to a partition: the events of others stood
// behind all of them.
TEST_CASE("an owner whose events wait to be fanned out is answered 429, and no other owner",
          "[retry][api]") {
    constexpr int kPosted = 2'000;
    World world;
    world.make("https://a.example/", "flood");
    world.make("https://b.example/", "shop");
    const auto post = [&](const std::string& owner, int id, auto reply) {
        const auto event = World::event(std::to_string(id));
        world.api.handle(world.request(Verb::post, "/events", event, owner), reply);
    };
    std::map<int, int> statuses;
    const auto count = [&statuses](const net::HttpReply& reply) {
        ++statuses[reply.status];
        if (reply.status != 429) return;
        CHECK(detail_of(reply).find("events of this owner") != std::string::npos);
        CHECK(reply.header("Retry-After") == "1");
    };
    for (int i = 0; i < kPosted; ++i) post("flood", i, count);
    CHECK(statuses[429] > kPosted / 2);
    statuses.clear();
    for (int i = 0; i < 10; ++i) post("shop", i, count);
    CHECK(statuses[429] == 0);
    world.executor.run_for(5s);
    CHECK(statuses[202] > 10);  // the flood's, too
    CHECK(world.received["https://b.example/"].size() == 10);

    // All of them are fanned out, and the owner may post again.
    statuses.clear();
    for (int i = 0; i < 100; ++i) post("flood", kPosted + i, count);
    world.executor.run_for(5s);
    CHECK(statuses == std::map<int, int>{{202, 100}});
}

TEST_CASE("two owners may use one source and id: each event reaches its own webhooks",
          "[retry][api]") {
    World world;
    world.make("https://a.example/", "a");
    world.make("https://b.example/", "b");
    CHECK(world.ask(Verb::post, "/events", World::event("1"), "a").status == 202);
    CHECK(world.ask(Verb::post, "/events", World::event("1"), "b").status == 202);
    CHECK(world.ask(Verb::post, "/events", World::event("1"), "b").status == 202);
    CHECK(world.received["https://a.example/"].size() == 1);
    CHECK(world.received["https://b.example/"].size() == 1);
}

TEST_CASE("a webhook is shown without its secret, disabled, enabled and deleted", "[retry][api]") {
    World world;
    const auto id = world.make("https://a.example/");
    const auto path = "/webhooks/" + id;
    const auto shown = world.get(path);
    CHECK_FALSE(shown.contains("secret"));
    CHECK(shown["secrets"] == 1);
    CHECK(Json::parse(world.ask(Verb::post, path + "/disable").body)["reason"] == "by its owner");
    const auto by_operator = world.ask(Verb::post, path + "/disable", Json{{"by", "operator"}});
    CHECK(Json::parse(by_operator.body)["reason"] == "by an operator");
    world.ask(Verb::post, "/events", World::event("1"));
    CHECK(world.received.empty());
    CHECK(Json::parse(world.ask(Verb::post, path + "/enable").body)["enabled"] == true);
    CHECK(world.ask(Verb::post, path + "/test").status == 202);
    CHECK(world.received["https://a.example/"].size() == 1);
    CHECK(world.get(path + "/attempts")["attempts"].size() == 1);
    CHECK(world.ask(Verb::get, path, {}, "other").status == 404);
    CHECK(world.ask(Verb::put, path).header("Allow") == "GET, PATCH, DELETE");
    CHECK(world.ask(Verb::del, path).status == 204);
    CHECK(world.ask(Verb::get, path).status == 404);
}

TEST_CASE("changes of one webhook at the same time are all kept", "[retry][api]") {
    World world;
    const auto path = "/webhooks/" + world.make("https://a.example/");
    const auto replies = world.ask_at_once(
        {world.request(Verb::patch, path, {{"description", "one"}}),
         world.request(Verb::patch, path, {{"timeout_s", 12}}),
         world.request(Verb::post, path + "/secret"), world.request(Verb::post, path + "/disable"),
         world.request(Verb::patch, path, {{"types", {"t", "u"}}})});
    for (const auto& reply : replies) CHECK(reply.status == 200);
    CHECK(Json::parse(replies[1].body)["description"] == "one");
    const auto last = Json::parse(replies[4].body);
    CHECK(last == world.get(path));
    CHECK(last["description"] == "one");
    CHECK(last["timeout_s"] == 12);
    CHECK(last["secrets"] == 2);
    CHECK(last["enabled"] == false);
    CHECK(last["types"].size() == 2);
}

TEST_CASE("a change that waited for the deletion of its webhook is answered 404, and it stays away",
          "[retry][api]") {
    World world;
    const auto path = "/webhooks/" + world.make("https://a.example/");
    const auto replies = world.ask_at_once(
        {world.request(Verb::del, path), world.request(Verb::patch, path, {{"description", "one"}}),
         world.request(Verb::post, path + "/secret"), world.request(Verb::post, path + "/enable"),
         world.request(Verb::post, path + "/disable"), world.request(Verb::del, path)});
    CHECK(replies[0].status == 204);
    for (std::size_t i = 1; i < replies.size(); ++i) CHECK(replies[i].status == 404);
    CHECK(world.ask(Verb::get, path).status == 404);
    CHECK(world.node.webhooks().without_webhook().empty());
}

TEST_CASE("a change that fails lets those that wait for it go on", "[retry][api]") {
    World world;
    const auto path = "/webhooks/" + world.make("https://a.example/");
    world.log->fail_next_publishes(1);
    const auto failed =
        world.ask_at_once({world.request(Verb::patch, path, {{"description", "lost"}}),
                           world.request(Verb::patch, path, {{"types", 5}}),
                           world.request(Verb::patch, path, {{"timeout_s", 12}})});
    CHECK(failed[0].status == 503);
    CHECK(failed[1].status == 400);
    CHECK(failed[2].status == 200);
    CHECK(Json::parse(failed[2].body)["description"] == "");
    CHECK(Json::parse(failed[2].body)["timeout_s"] == 12);
    CHECK(world.node.change_turns().under_way() == 0);
    world.log->set_away(true);
    std::vector<ApiRequest> requests(20, world.request(Verb::post, path + "/disable"));
    requests.front() = world.request(Verb::patch, path, {{"description", "lost"}});
    for (const auto& reply : world.ask_at_once(requests)) CHECK(reply.status == 503);
    world.log->set_away(false);
    world.executor.run_for(10s);
    CHECK(world.node.change_turns().under_way() == 0);
    CHECK(world.ask(Verb::post, path + "/enable").status == 200);
}

TEST_CASE("the bodies of an owner's changes that wait are bounded", "[retry][api][bounds]") {
    World world{{.guard = {}, .memory = {.per_owner = 10'000'000, .in_all = 100'000'000}}};
    const auto path = "/webhooks/" + world.make("https://a.example/");
    auto large = world.request(Verb::patch, path);
    large.body = R"({"description":5)" + std::string(250'000, ' ') + "}";
    std::vector<ApiRequest> requests(100, large);
    requests.push_back(world.request(Verb::post, path + "/disable"));
    CHECK(world.statuses_at_once(requests) == std::map<int, int>{{200, 1}, {400, 100}});
    requests.insert(requests.begin(), world.request(Verb::patch, path, {{"timeout_s", 12}}));
    auto statuses = world.statuses_at_once(requests);
    CHECK(statuses[200] == 2);
    CHECK(statuses[400] > 30);
    CHECK(statuses[400] < 41);
    CHECK(statuses[429] == 100 - statuses[400]);
}

TEST_CASE("an owner sees the attempts at its own webhooks, and at no others", "[retry][api]") {
    World world;
    const auto id = world.make("https://a.example/");
    const auto quiet = world.make("https://b.example/");
    world.make("https://c.example/", "other");
    CHECK(world.ask(Verb::post, "/webhooks/" + id + "/test").status == 202);
    world.answered = 500;
    CHECK(world.ask(Verb::post, "/webhooks/" + id + "/test").status == 202);
    const auto reported = world.get("/attempts")["webhooks"];
    REQUIRE(reported.size() == 2);
    const auto& used = reported[reported[0]["webhook"] == id ? 0 : 1];
    const auto& unused = reported[reported[0]["webhook"] == id ? 1 : 0];
    CHECK(used["attempts"] == 2);
    CHECK(used["delivered"] == 1);
    CHECK(used["last"]["status"] == 500);
    CHECK(unused["webhook"] == quiet);
    CHECK(unused["attempts"] == 0);
    CHECK(unused["last"].is_null());
    CHECK(world.ask(Verb::post, "/attempts").status == 405);
}

// A hundred attempts of each webhook, with a kilobyte of each answer, were copied to be counted.
TEST_CASE("a summary of attempts does not cost what the attempts hold", "[retry][api][bounds]") {
    if (!test::allocations_are_counted()) return;
    constexpr std::size_t kAttempts = 100;
    World world;
    world.said = std::string(1'024, 'x');
    const auto id = world.make("https://a.example/");
    const auto cost = [&] {
        const auto before = test::allocations().in_all;
        const auto reply = world.ask(Verb::get, "/attempts");
        CHECK(reply.status == 200);
        return test::allocations().in_all - before;
    };
    const auto without = cost();
    for (std::size_t i = 0; i < kAttempts; ++i) {
        REQUIRE(world.ask(Verb::post, "/webhooks/" + id + "/test").status == 202);
    }
    const auto with = cost();
    CHECK(world.get("/attempts")["webhooks"][0]["attempts"] == kAttempts);
    CHECK(with < without + kAttempts * 1'024 / 4);
}

// Each filter was parsed and printed, of which an owner may have megabytes.
TEST_CASE("a list of webhooks costs what it has to say", "[retry][api][bounds]") {
    if (!test::allocations_are_counted()) return;
    World world;
    const auto filter = many_terms(25'600, 256);
    const auto made =
        world.ask(Verb::post, "/webhooks",
                  {{"url", "https://a.example/"}, {"types", {"t"}}, {"filter", filter}});
    REQUIRE(made.status == 201);
    const auto before = test::allocations().in_all;
    const auto reply = world.ask(Verb::get, "/webhooks");
    const auto cost = test::allocations().in_all - before;
    REQUIRE(reply.status == 200);
    const auto text = filter.dump().size();
    CHECK(text > 80'000);
    CHECK(reply.body.size() > text);
    CHECK(cost < 18 * text);  // the text and its copies; parsed it takes as much again
    CHECK(Json::parse(reply.body)["webhooks"][0]["filter"] == filter);
}

TEST_CASE("webhooks and their attempts are listed in pages", "[retry][api][bounds]") {
    Api::Options options;
    options.webhooks_per_owner_max = 200;
    World world{options};
    std::set<std::string> made;
    for (int i = 0; i < 110; ++i) made.insert(world.make("https://a.example/"));
    world.make("https://b.example/", "other");
    for (const std::string list : {"/webhooks", "/attempts"}) {
        CAPTURE(list);
        std::set<std::string> listed;
        std::vector<std::size_t> sizes;
        std::string after;
        do {
            const auto target = list + "?limit=50" + (after.empty() ? "" : "&after=" + after);
            const auto page = world.get(target);
            for (const auto& one : page["webhooks"]) {
                listed.insert(one[list == "/webhooks" ? "id" : "webhook"].get<std::string>());
            }
            sizes.push_back(page["webhooks"].size());
            after = page["next"].is_null() ? "" : page["next"].get<std::string>();
        } while (!after.empty());
        CHECK(listed == made);
        CHECK(sizes == std::vector<std::size_t>{50, 50, 10});
        CHECK(world.get(list)["webhooks"].size() == 100);
        for (const auto* wrong :
             {"?limit=0", "?limit=251", "?limit=x", "?limit=", "?limit=1&limit=2", "?page=2"}) {
            CAPTURE(wrong);
            CHECK(world.ask(Verb::get, list + wrong).status == 400);
        }
    }
}

TEST_CASE("a page of webhooks with large filters ends behind 128 KiB", "[retry][api][bounds]") {
    World world;
    const Json body{{"url", "https://a.example/"}, {"filter", many_terms(10'240, 256)}};
    constexpr std::size_t kWebhooks = 8;
    for (std::size_t i = 0; i < kWebhooks; ++i) {
        REQUIRE(world.ask(Verb::post, "/webhooks", body).status == 201);
    }
    std::size_t listed = 0;
    std::string tail;
    for (;;) {
        const auto reply = world.ask(Verb::get, "/webhooks" + tail);
        CHECK(reply.body.size() < 192'000);
        const auto page = Json::parse(reply.body);
        REQUIRE_FALSE(page["webhooks"].empty());
        listed += page["webhooks"].size();
        if (page["next"].is_null()) break;
        tail = "?after=" + page["next"].get<std::string>();
    }
    CHECK(listed == kWebhooks);
    CHECK_FALSE(tail.empty());
}

TEST_CASE("before all webhooks are read no webhook is answered 404", "[retry][api]") {
    World world{{}, World::Start::later};
    std::optional<net::HttpReply> reply;
    const auto request = world.request(Verb::get, "/webhooks/" + std::string(32, 'a'));
    world.api.handle(request, [&](net::HttpReply answered) { reply = std::move(answered); });
    REQUIRE(reply);
    CHECK(reply->status == 503);
    CHECK(detail_of(*reply) == "the webhooks are still being read");
    world.start();
    CHECK(world.ask(request).status == 404);
}

namespace {

/// A world with dead letters of two owners: a receiver that fails, until it is made well again.
struct DeadWorld : World {
    DeadWorld() {
        webhook = make("https://a.example/");
        make("https://b.example/", "other");
        answered = 500;
        for (int i = 0; i < kLetters; ++i) {
            const auto text =
                core::with_json_member(event(std::to_string(i)).dump(), "data", kData);
            ask(post_of(*this, "application/cloudevents+json", text));
        }
        ask(Verb::post, "/events", event("o"), "other");
        executor.run_for(20s);
        answered = 200;
        received.clear();
    }
    Json list(const std::string& query = "", const std::string& owner = "shop") {
        const auto reply = ask(Verb::get, "/dead" + query, {}, owner);
        REQUIRE(reply.status == 200);
        return Json::parse(reply.body);
    }
    Json settle(const std::string& action, const Json& order) {
        const auto reply = ask(Verb::post, "/dead/" + action, order);
        REQUIRE(reply.status == 200);
        return Json::parse(reply.body);
    }
    static constexpr const char* kData = R"({"n":1e5, "n":12345678901234567890123})";
    static constexpr int kLetters = 4;  ///< fewer failures than open the breaker
    std::string webhook;
};

}  // namespace

TEST_CASE("an owner sees the dead letters of its own webhooks, page by page", "[retry][dead]") {
    DeadWorld world;
    CHECK(world.list()["letters"].size() == DeadWorld::kLetters);
    CHECK(world.list("", "other")["letters"].size() == 1);
    const auto first = world.list("?limit=3");
    CHECK(first["letters"].size() == 3);
    const auto rest = world.list("?limit=3&after=" + first["next"].get<std::string>());
    CHECK(rest["letters"].size() == 1);
    CHECK(rest["next"].is_null());
    CHECK(world.list("?reason=gone")["letters"].empty());
    CHECK(world.list("?type=t&webhook=" + world.webhook)["letters"].size() == 4);

    const std::string id = first["letters"][0]["delivery"];
    const auto letter = world.get("/dead/" + id);
    CHECK(letter["event"]["type"] == "t");
    CHECK(world.ask(Verb::get, "/dead/" + id).body.find(DeadWorld::kData) != std::string::npos);
    CHECK(letter["attempts"] == 2);
    CHECK(letter["reason"] == "refused");
    CHECK(world.ask(Verb::get, "/dead/" + id, {}, "other").status == 404);
}

TEST_CASE("a redrive does nothing before it is asked to, and then delivers under the old ids",
          "[retry][dead]") {
    DeadWorld world;
    const auto dry = world.settle("redrive", Json::object());
    CHECK(dry["matched"] == 4);
    CHECK(dry["would_settle"] == 4);
    CHECK(world.settle("redrive", {{"before", dry["before"]}})["would_settle"] == 4);
    CHECK(world.received.empty());
    CHECK(world.settle("redrive", {{"limit", 2}, {"dry_run", false}})["settled"] == 2);
    CHECK(world.list()["letters"].size() == 2);
    CHECK(world.received["https://a.example/"].size() == 2);
    CHECK(world.settle("redrive", {{"dry_run", false}})["settled"] == 2);
    CHECK(world.list()["letters"].empty());
    CHECK(world.received["https://a.example/"].size() == 4);
    CHECK(world.list("", "other")["letters"].size() == 1);
}

TEST_CASE("an operator sees and redrives the dead letters of all owners, and may do nothing else",
          "[retry][dead]") {
    DeadWorld world;
    const auto as_operator = [&](Verb method, const std::string& target, const Json& body = {}) {
        auto request = world.request(method, target, body);
        request.authorization = "Bearer " + *make_token(*world.keys, operator_caller());
        return world.ask(request);
    };
    const auto listed = Json::parse(as_operator(Verb::get, "/dead").body);
    CHECK(listed["letters"].size() == DeadWorld::kLetters + 1);
    CHECK(listed["all"] == DeadWorld::kLetters + 1);
    CHECK_FALSE(world.list().contains("all"));
    CHECK(Json::parse(as_operator(Verb::get, "/attempts").body)["webhooks"].size() == 2);
    const auto webhooks = Json::parse(as_operator(Verb::get, "/webhooks").body);
    REQUIRE(webhooks["webhooks"].size() == 2);
    std::set<std::string> owners;
    for (const auto& one : webhooks["webhooks"]) owners.insert(one["owner"].get<std::string>());
    CHECK(owners == std::set<std::string>{"other", "shop"});
    CHECK_FALSE(webhooks.contains("usage"));
    for (const auto* target : {"/webhooks", "/events"}) {
        CAPTURE(target);
        CHECK(as_operator(Verb::post, target, Json::object()).status == 403);
    }
    CHECK(as_operator(Verb::get, "/webhooks/" + world.webhook).status == 403);
    const auto done = as_operator(Verb::post, "/dead/redrive", {{"dry_run", false}});
    CHECK(Json::parse(done.body)["settled"] == DeadWorld::kLetters + 1);
    CHECK(world.list()["letters"].empty());
}

TEST_CASE("a caller has one redrive or drop under way, which delays nobody else's",
          "[retry][dead][bounds]") {
    DeadWorld world;
    std::map<std::string, std::vector<int>> statuses;
    const auto order = [&](const std::string& owner, const std::string& action) {
        const auto request =
            world.request(Verb::post, "/dead/" + action, {{"dry_run", false}}, owner);
        world.api.handle(request, [&statuses, owner](const net::HttpReply& reply) {
            statuses[owner].push_back(reply.status);
        });
    };
    order("shop", "redrive");
    order("shop", "redrive");
    order("shop", "drop");
    order("other", "redrive");
    world.executor.run_for(1s);
    CHECK(statuses["shop"] == std::vector{429, 429, 200});
    CHECK(statuses["other"] == std::vector{200});
    CHECK(world.list()["letters"].empty());
    CHECK(world.received["https://a.example/"].size() ==
          DeadWorld::kLetters);  // none of them twice
    order("shop", "redrive");
    world.executor.run_for(1s);
    CHECK(statuses["shop"].back() == 200);
}

TEST_CASE("a delivery that is dead-lettered again after a redrive has a history", "[retry][dead]") {
    DeadWorld world;
    world.answered = 410;
    const std::string id = world.list("?limit=1")["letters"][0]["delivery"];
    CHECK(world.settle("redrive", {{"ids", {id}}, {"dry_run", false}})["settled"] == 1);
    const auto letter = world.get("/dead/" + id);
    CHECK(letter["reason"] == "gone");
    CHECK(letter["redriven"] == 1);
    CHECK(letter["history"][0]["reason"] == "refused");
    CHECK(letter["history"][0]["attempts"] == 2);
    // Its webhook is disabled now: a delivery to it would be dead-lettered at once.
    const auto again = world.settle("redrive", {{"dry_run", false}});
    CHECK(again["disabled"] == 4);
    CHECK(again["settled"] == 0);
}

TEST_CASE("a dropped letter is gone for good, also for a process that starts later",
          "[retry][dead]") {
    DeadWorld world;
    CHECK(world.settle("drop", {{"limit", 3}, {"dry_run", false}})["settled"] == 3);
    CHECK(world.list()["letters"].size() == 1);
    DeadIndex later;
    for (core::Partition p = 0; p < kPartitions; ++p) {
        for (const auto& stored : world.log->records({log::Topic::kRetryDead, p})) {
            later.apply(p, *test::ReadBack{stored.record, stored.offset, stored.time});
        }
    }
    CHECK(later.size() == 2);
    CHECK(world.received.empty());
}

TEST_CASE("a fault of a request for dead letters is named", "[retry][dead]") {
    DeadWorld world;
    const auto detail = [&](const std::string& query) {
        return detail_of(world.ask(Verb::get, "/dead" + query));
    };
    CHECK(detail("?limit=0") == "the parameter limit must be a whole number from 1 to 1000");
    CHECK(detail("?reason=bad").starts_with("the parameter reason must be one of gone, refused"));
    CHECK(detail("?since=yesterday").starts_with("the parameter since must be a date"));
    CHECK(detail("?after=x") == "the parameter after must be the value of `next` of a reply");
    CHECK(detail("?colour=red").starts_with("the parameter colour is unknown"));
    const auto order = [&](const Json& body) {
        return detail_of(world.ask(Verb::post, "/dead/redrive", body));
    };
    CHECK(order({{"dry_run", "no"}}) == "$.dry_run must be true or false");
    CHECK(order({{"ids", Json::array()}}).starts_with("$.ids must be a list of 1 to 1000"));
    CHECK(order({{"limit", 1.5}}).starts_with("$.limit must be a whole number"));
    CHECK(order({{"x", "y"}}).starts_with("$.x is no field"));
    CHECK(order({{"x", 1}}).starts_with("$.x is no field"));
    CHECK(order({{"webhook", 1}}) == "$.webhook must be a string");
    CHECK(order({{"webhook", ""}}) == "$.webhook must not be empty");
    CHECK(order({{"type", ""}}) == "$.type must not be empty");
    CHECK(detail("?type=") == "the parameter type must not be empty");
    CHECK(detail("?type=a&type=b") == "the parameter type stands twice");
    CHECK(world.ask(Verb::del, "/dead").header("Allow") == "GET");
    CHECK(world.ask(Verb::get, "/dead/redrive").header("Allow") == "POST");
    CHECK(world.ask(Verb::get, "/dead/none").status == 404);
}
