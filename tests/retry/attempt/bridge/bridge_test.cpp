#include "core/base64url.hpp"
#include "retry/attempt/bridge/access_token.hpp"
#include "retry/attempt/bridge/apns_app.hpp"
#include "retry/attempt/bridge/bridge_verdict.hpp"
#include "retry/attempt/bridge/bridge_world.hpp"
#include "retry/attempt/bridge/fcm_app.hpp"
#include "retry/attempt/bridge/provider_token.hpp"
#include "support/manual_clock.hpp"
#include "support/temp_dir.hpp"

#include <deque>
#include <fstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <openssl/ecdsa.h>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;
using namespace beckon::test;
using nlohmann::json;
using End = HttpAnswer::End;

namespace {

struct Jwt {
    json header;
    json claims;
    std::string signed_text;
    std::string signature;
};

Jwt parse_jwt(const std::string& text) {
    const auto first = text.find('.');
    const auto second = text.find('.', first + 1);
    REQUIRE(second != std::string::npos);
    const auto part = [&](std::size_t from, std::size_t to) {
        return core::parse_base64url(text.substr(from, to - from)).value();
    };
    return {.header = json::parse(part(0, first)),
            .claims = json::parse(part(first + 1, second)),
            .signed_text = text.substr(0, second),
            .signature = part(second + 1, text.size())};
}

bool verifies(EVP_PKEY* key, const std::string& text, const std::string& signature) {
    const core::Handle<EVP_MD_CTX, EVP_MD_CTX_free> context{EVP_MD_CTX_new()};
    const auto bytes = [](const std::string& s) {
        return reinterpret_cast<const unsigned char*>(s.data());
    };
    return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1 &&
           EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(text),
                            text.size()) == 1;
}

/// r and s as DER, which OpenSSL wants.
std::string as_der(const std::string& raw) {
    const auto number = [&](std::size_t from) {
        return BN_bin2bn(reinterpret_cast<const unsigned char*>(raw.data()) + from, 32, nullptr);
    };
    const core::Handle<ECDSA_SIG, ECDSA_SIG_free> pair{ECDSA_SIG_new()};
    ECDSA_SIG_set0(pair.get(), number(0), number(32));
    unsigned char* der = nullptr;
    const int size = i2d_ECDSA_SIG(pair.get(), &der);
    std::string out{reinterpret_cast<char*>(der), static_cast<std::size_t>(size)};
    OPENSSL_free(der);
    return out;
}

HttpAnswer answer(int status, std::string body = {},
                  std::optional<std::chrono::seconds> retry_after = {}) {
    return {.end = End::answered,
            .status = status,
            .retry_after = retry_after,
            .body = std::move(body)};
}

HttpAnswer ended(End end, std::string why) { return {.end = end, .why = std::move(why)}; }

std::string fcm_error_body(const std::string& status, const std::string& code = {}) {
    json error{{"code", 0}, {"message", "text"}, {"status", status}};
    if (!code.empty()) {
        error["details"] =
            json::array({{{"@type", "type.googleapis.com/google.firebase.fcm.v1.FcmError"},
                          {"errorCode", code}}});
    }
    return json{{"error", error}}.dump();
}

/// The service account as Google's console gives it.
json service_account(const PrivateKey& key) {
    return {{"type", "service_account"},
            {"project_id", "my-project"},
            {"private_key_id", "kid-1"},
            {"private_key", key.pem},
            {"client_email", "push@my-project.example"},
            {"token_uri", "https://oauth.example/token"}};
}

struct Files {
    TempDir directory;
    std::string write(const std::string& name, const std::string& text) {
        std::ofstream{directory / name} << text;
        return (directory / name).string();
    }
    std::string fcm_fault(const json& account) {
        const auto file = write("fcm.json", account.dump());
        const auto loaded = load_fcm_credentials("my-app=" + file);
        if (loaded) return "(loaded)";
        CHECK(loaded.error().message.find("BEGIN") == std::string::npos);
        return loaded.error().message.substr(file.size() + 2);
    }
    std::string apns_fault(const json& object) {
        const auto file = write("apns.json", object.dump());
        const auto loaded = load_apns_credentials("release=" + file);
        if (loaded) return "(loaded)";
        return loaded.error().message.substr(file.size() + 2);
    }
};

bridge::BridgedMessage message_to(core::RouterType type, const std::string& token) {
    return {.uaid = core::Uaid{},
            .key = core::MessageKey{*core::parse_hex16("0192f0c1a2b37abc8def0123456789ab")},
            .message_id = "id",
            .to = {.type = type, .app = "app", .token = token},
            .ttl_s = 60};
}

}  // namespace

// --- keys and tokens

TEST_CASE("a token for Google is signed with RS256 and one for Apple with ES256", "[bridge]") {
    const auto rsa = rsa_key();
    const auto one = parse_jwt(
        signing_key(rsa, SigningKey::Kind::rs256).jwt(R"({"alg":"RS256"})", R"({"a":1})"));
    CHECK(one.header == json{{"alg", "RS256"}});
    CHECK(one.claims == json{{"a", 1}});
    CHECK(verifies(rsa.key.get(), one.signed_text, one.signature));

    const auto ec = ec_key();
    const auto two =
        parse_jwt(signing_key(ec, SigningKey::Kind::es256).jwt(R"({"alg":"ES256"})", R"({"b":2})"));
    REQUIRE(two.signature.size() == 64);
    CHECK(verifies(ec.key.get(), two.signed_text, as_der(two.signature)));
}

TEST_CASE("a key that does not fit is named without being shown", "[bridge]") {
    const auto why = [](const std::string& pem, SigningKey::Kind kind) {
        const auto key = SigningKey::from_pem(pem, kind);
        return key ? std::string{"(good)"} : key.error().message;
    };
    using enum SigningKey::Kind;
    CHECK(why("", rs256) == "holds no unencrypted private key in PEM form");
    CHECK(why("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", es256) ==
          "holds no unencrypted private key in PEM form");
    CHECK(why(ec_key().pem, rs256) == "holds a key that is not RSA of at least 2048 bits");
    CHECK(why(rsa_key(1'024).pem, rs256) == "holds a key that is not RSA of at least 2048 bits");
    CHECK(why(ec_key("P-384").pem, es256) == "holds a key that is not an EC key on P-256");
    CHECK(why(ec_key().pem, es256) == "(good)");
}

TEST_CASE("a service account is read from Google's file", "[bridge]") {
    Files files;
    const auto rsa = rsa_key();
    const auto good = service_account(rsa);
    const auto file = files.write("good.json", good.dump());
    const auto loaded = load_fcm_credentials("my-app=" + file);
    REQUIRE(loaded);
    CHECK(loaded->app == "my-app");
    CHECK(loaded->project == "my-project");
    CHECK(loaded->client_email == "push@my-project.example");
    CHECK(loaded->key_id == "kid-1");
    CHECK(loaded->token_uri == "https://oauth.example/token");
    for (const auto* name :
         {"project_id", "private_key_id", "private_key", "client_email", "token_uri"}) {
        auto without = good;
        without.erase(name);
        CHECK(files.fcm_fault(without) == "has no text `" + std::string{name} + "`");
    }
    auto other = good;
    other["type"] = "authorized_user";
    CHECK(files.fcm_fault(other) == "is no service account (`type` is not service_account)");
    other = good;
    other["private_key"] = "secret";
    CHECK(files.fcm_fault(other) == "`private_key` holds no unencrypted private key in PEM form");
    CHECK(files.fcm_fault(json::array()) == "is not a JSON object");
    CHECK(load_fcm_credentials("my-app").error().message == "'my-app' is not NAME=FILE");
    CHECK(load_fcm_credentials("a=/nowhere").error().message == "/nowhere: cannot be read");
}

TEST_CASE("an Apple key is read with the file that names its team", "[bridge]") {
    Files files;
    files.write("key.p8", ec_key().pem);
    const json good{{"team_id", "TEAM"}, {"key_id", "KEY"}, {"key_file", "key.p8"}};
    const auto file = files.write("good.json", good.dump());
    const auto loaded = load_apns_credentials("release=" + file);
    REQUIRE(loaded);
    CHECK(loaded->channel == "release");
    CHECK(loaded->team_id == "TEAM");
    CHECK(loaded->key_id == "KEY");
    CHECK(loaded->topic == "com.mozilla.org.release");
    CHECK_FALSE(loaded->sandbox);
    auto more = good;
    more["topic"] = "org.example.app";
    more["sandbox"] = true;
    const auto other = load_apns_credentials("beta=" + files.write("more.json", more.dump()));
    REQUIRE(other);
    CHECK(other->topic == "org.example.app");
    CHECK(other->sandbox);
    more["sandbox"] = "yes";
    CHECK(files.apns_fault(more) == "`sandbox` is not true or false");
    more = good;
    more["topic"] = 1;
    CHECK(files.apns_fault(more) == "`topic` is not text");
    more = good;
    more.erase("team_id");
    CHECK(files.apns_fault(more) == "has no text `team_id`");
    more = good;
    more["key_file"] = "none.p8";
    CHECK(files.apns_fault(more) == (files.directory / "none.p8").string() + ": cannot be read");
}

TEST_CASE("Apple's token is renewed after 45 minutes, and after a refusal not before 20",
          "[bridge]") {
    const auto key = ec_key();
    const auto credentials = apns_credentials(key);
    ProviderToken token{credentials};
    const core::Timestamp start{1'700'000'000s};
    const auto first = token.at(start);
    const auto parsed = parse_jwt(first);
    CHECK(parsed.header == json{{"alg", "ES256"}, {"kid", "KEY"}});
    CHECK(parsed.claims == json{{"iss", "TEAM"}, {"iat", 1'700'000'000}});
    CHECK(verifies(key.key.get(), parsed.signed_text, as_der(parsed.signature)));
    CHECK(token.at(start + 45min - 1s) == first);
    const auto second = token.at(start + 45min);
    CHECK(second != first);
    token.refused();
    CHECK(token.at(start + 65min - 1s) == second);
    const auto third = token.at(start + 65min);
    CHECK(third != second);
    CHECK(token.at(start + 65min + 45min - 1s) == third);
    CHECK(token.at(start) != third);  // the host's clock was set back
    CHECK(token.renewals() == 4);
}

namespace {

/// An access token whose requests are answered by the test.
struct TokenWorld {
    PrivateKey key = rsa_key();
    FcmCredentials credentials = fcm_credentials(key);
    ManualClock clock;
    std::vector<HttpRequest> requests;
    std::deque<std::function<void(HttpAnswer)>> waiting;
    std::vector<bool> renewed;
    std::vector<std::string> got;
    AccessToken token{credentials, clock,
                      [this](HttpRequest request, auto done) {
                          requests.push_back(std::move(request));
                          waiting.push_back(std::move(done));
                      },
                      [this](bool good) { renewed.push_back(good); }};

    void get() {
        token.get([this](const auto& one) {
            got.push_back(
                one ? *one : std::string{to_string(one.error().outcome)} + ": " + one.error().why);
        });
    }
    void reply(HttpAnswer one) {
        REQUIRE_FALSE(waiting.empty());
        const auto done = std::move(waiting.front());
        waiting.pop_front();
        done(std::move(one));
    }
    void grant(const std::string& text, int life_s = 3'600) {
        reply(answer(200, json{{"access_token", text}, {"expires_in", life_s}}.dump()));
    }
};

using Texts = std::vector<std::string>;

struct IgnoresBridges : BridgeObserver {
    void attempted(core::RouterType, BridgeOutcome, core::Duration) override {}
    void token_renewed(core::RouterType, bool) override {}
};

}  // namespace

TEST_CASE("an access token is asked for with a signed assertion", "[bridge]") {
    TokenWorld world;
    world.get();
    REQUIRE(world.requests.size() == 1);
    const auto& request = world.requests[0];
    CHECK(request.url == "https://oauth.example/token");
    CHECK(request.method == Method::post);
    CHECK(request.headers == Texts{"Content-Type: application/x-www-form-urlencoded"});
    const std::string begin =
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    REQUIRE(request.body.starts_with(begin));
    const auto jwt = parse_jwt(request.body.substr(begin.size()));
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(world.clock.wall().time_since_epoch())
            .count();
    CHECK(jwt.header == json{{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "kid-1"}});
    CHECK(jwt.claims == json{{"iss", "push@my-project.example"},
                             {"scope", "https://www.googleapis.com/auth/firebase.messaging"},
                             {"aud", "https://oauth.example/token"},
                             {"iat", now},
                             {"exp", now + 3'600}});
    CHECK(verifies(world.key.key.get(), jwt.signed_text, jwt.signature));
}

TEST_CASE("one request for an access token serves all who wait", "[bridge]") {
    TokenWorld world;
    world.get();
    world.get();
    CHECK(world.requests.size() == 1);
    CHECK(world.got.empty());
    world.grant("one");
    world.get();
    CHECK(world.got == Texts{"one", "one", "one"});
    CHECK(world.requests.size() == 1);
    CHECK(world.renewed == std::vector<bool>{true});
}

TEST_CASE("an access token is renewed before its end while the old one serves", "[bridge]") {
    TokenWorld world;
    world.get();
    world.grant("one");
    world.clock.advance(55min - 1s);
    world.get();
    CHECK(world.requests.size() == 1);
    world.clock.advance(1s);
    world.get();
    world.get();
    CHECK(world.requests.size() == 2);
    CHECK(world.got == Texts{"one", "one", "one", "one"});
    world.reply(answer(503));  // a caller whose token is valid gets no error
    world.get();
    world.grant("two");
    world.get();
    CHECK(world.got == Texts{"one", "one", "one", "one", "one", "two"});
    CHECK(world.renewed == std::vector<bool>{true, false, true});
}

TEST_CASE("an access token is not used at its very end, nor after it was refused", "[bridge]") {
    TokenWorld world;
    world.get();
    world.grant("one", 100);
    world.clock.advance(90s);
    world.get();
    CHECK(world.got == Texts{"one"});
    world.grant("two");
    world.token.drop("one");  // which "two" has replaced
    world.get();
    CHECK(world.got == Texts{"one", "two", "two"});
    world.token.drop("two");
    world.get();
    world.grant("three");
    CHECK(world.got == Texts{"one", "two", "two", "three"});
}

TEST_CASE("an access token's life counts from its request", "[bridge]") {
    TokenWorld world;
    world.get();
    auto late = answer(200, json{{"access_token", "one"}, {"expires_in", 100}}.dump());
    late.took = 60s;
    world.reply(std::move(late));
    world.clock.advance(29s);
    world.get();
    CHECK(world.got == Texts{"one", "one"});
    world.clock.advance(1s);  // ten seconds before its end
    world.get();
    CHECK(world.got == Texts{"one", "one"});
    world.grant("two");
    CHECK(world.got == Texts{"one", "one", "two"});
}

TEST_CASE("an access token is renewed after a day, however long its server lets it live",
          "[bridge]") {
    for (const auto* life : {"86401", "4294967296", "18446744073709551615"}) {
        CAPTURE(life);
        TokenWorld world;
        world.get();
        world.reply(
            answer(200, R"({"access_token":"one","expires_in":)" + std::string{life} + "}"));
        world.clock.advance(23h);
        world.get();
        CHECK(world.got == Texts{"one", "one"});
        world.clock.advance(1h);
        world.get();
        world.grant("two");
        CHECK(world.got == Texts{"one", "one", "two"});
    }
}

TEST_CASE("an error of the token server goes to all waiting deliveries", "[bridge]") {
    TokenWorld world;
    const auto fault = [&](HttpAnswer one) {
        world.got.clear();
        world.get();
        world.reply(std::move(one));
        return world.got.at(0);
    };
    CHECK(fault(answer(400, R"({"error":"invalid_grant"})")) ==
          "unauthorized: the token server answered 400 invalid_grant");
    CHECK(fault(answer(401, R"({"error":"<script>"})")) ==
          "unauthorized: the token server answered 401");
    CHECK(fault(answer(429)) == "unreachable: the token server answered 429");
    CHECK(fault(answer(500)) == "unreachable: the token server answered 500");
    CHECK(fault(ended(End::timed_out, "slow")) == "timed_out: the token server did not answer");
    CHECK(fault(ended(End::unreachable, "reset")) == "unreachable: the token server reset");
    for (const auto* body :
         {"", "[]", "{}", R"({"access_token":"x"})", R"({"access_token":"","expires_in":1})",
          R"({"access_token":"x","expires_in":1.5})", R"({"access_token":"x","expires_in":-1})",
          R"({"access_token":"a\r\nb: c","expires_in":1})"}) {
        CHECK(fault(answer(200, body)) == "unreachable: the token server answered without a token");
    }
}

// --- requests

TEST_CASE("a request to FCM is as its HTTP v1 API has it", "[bridge]") {
    const auto message = message_to(core::RouterType::fcm, "tok");
    const auto request = fcm_request({.url = "https://fcm.example"}, "my-project",
                                     {.message = message, .left = 90s});
    CHECK(request.url == "https://fcm.example/v1/projects/my-project/messages:send");
    CHECK(request.headers == Texts{"Content-Type: application/json"});
    CHECK(json::parse(request.body)["message"]["android"]["ttl"] == "90s");
    CHECK(request.timeout == kBridgeTimeout);
}

TEST_CASE("messages under way with a revoked access token go out with a new one", "[bridge]") {
    PrivateKey key = rsa_key();
    ManualClock clock;
    IgnoresBridges observer;
    std::vector<std::string> authorizations;  // of the requests to FCM
    std::deque<std::function<void(HttpAnswer)>> waiting;
    int grants = 0;
    FcmApp app{fcm_credentials(key),
               {},
               {.clock = clock,
                .send =
                    [&](const HttpRequest& request, const auto& done) {
                        if (request.url == "https://oauth.example/token") {
                            const json granted{{"access_token", std::to_string(++grants)},
                                               {"expires_in", 3'600}};
                            return done(answer(200, granted.dump()));
                        }
                        authorizations.push_back(request.headers.back());
                        waiting.push_back(done);
                    },
                .observer = observer}};
    std::vector<BridgeOutcome> outcomes;
    const auto message = message_to(core::RouterType::fcm, "tok");
    const auto send = [&] {
        app.send({.message = message, .left = 90s},
                 [&](const BridgeVerdict& one, auto) { outcomes.push_back(one.outcome); });
    };
    const auto reply = [&](int status) {
        const auto done = waiting.front();
        waiting.pop_front();
        done(answer(status));
    };
    for (int i = 0; i < 3; ++i) send();
    for (int i = 0; i < 3; ++i) reply(401);
    CHECK(grants == 2);
    CHECK(outcomes.empty());
    const std::string one = "Authorization: Bearer 1";
    const std::string two = "Authorization: Bearer 2";
    CHECK(authorizations == Texts{one, one, one, two, two, two});
    reply(200);
    reply(200);
    reply(401);  // the new one too: it is our credentials
    CHECK(outcomes == std::vector{BridgeOutcome::accepted, BridgeOutcome::accepted,
                                  BridgeOutcome::unauthorized});
    CHECK(waiting.empty());
}

TEST_CASE("a request to APNs names topic, priority, expiration and id", "[bridge]") {
    auto message = message_to(core::RouterType::apns, "cafe01");
    const core::Timestamp expires{1'700'000'060s};
    const auto ask = [&] {
        return apns_request({.url = "https://apns.example"}, "org.example.app",
                            {.message = message, .left = 60s, .expires = expires});
    };
    const auto request = ask();
    CHECK(request.url == "https://apns.example/3/device/cafe01");
    CHECK(request.headers == Texts{"apns-topic: org.example.app", "apns-push-type: alert",
                                   "apns-priority: 10", "apns-expiration: 1700000060",
                                   "apns-id: 0192f0c1-a2b3-7abc-8def-0123456789ab",
                                   "content-type: application/json"});
    message.ttl_s = 0;
    CHECK(ask().headers[3] == "apns-expiration: 0");
}

TEST_CASE("a device token cannot lead a request elsewhere", "[bridge]") {
    CHECK(is_device_token("0123abcDEF-_:"));
    for (const std::string token : {"", "a/b", "a?b", "a#b", "a b", "..", "a%2f", "a\n"}) {
        CHECK_FALSE(is_device_token(token));
    }
    CHECK_FALSE(is_device_token(std::string(201, 'a')));
}

// --- answers

TEST_CASE("each answer of FCM has its verdict", "[bridge]") {
    using enum BridgeOutcome;
    const auto verdict = [](BridgeOutcome outcome, std::chrono::seconds wait, std::string why) {
        return BridgeVerdict{outcome, wait, std::move(why)};
    };
    CHECK(judge_fcm(answer(200, R"({"name":"m"})")) == verdict(accepted, 0s, ""));
    CHECK(judge_fcm(answer(404, fcm_error_body("NOT_FOUND", "UNREGISTERED"))) ==
          verdict(gone, 0s, "404 UNREGISTERED"));
    CHECK(judge_fcm(answer(404, fcm_error_body("NOT_FOUND"))) ==
          verdict(failed, 0s, "404 NOT_FOUND"));
    CHECK(judge_fcm(answer(404, "<html>")) == verdict(failed, 0s, "404"));
    CHECK(judge_fcm(answer(404)) == verdict(failed, 0s, "404"));
    CHECK(judge_fcm(answer(400, fcm_error_body("INVALID_ARGUMENT", "INVALID_ARGUMENT"))) ==
          verdict(refused, 0s, "400 INVALID_ARGUMENT"));
    CHECK(judge_fcm(answer(400, "{}")) == verdict(failed, 0s, "400"));
    CHECK(judge_fcm(answer(401, fcm_error_body("UNAUTHENTICATED"))) ==
          verdict(unauthorized, 0s, "401 UNAUTHENTICATED"));
    CHECK(judge_fcm(answer(403, fcm_error_body("PERMISSION_DENIED"))) ==
          verdict(unauthorized, 0s, "403 PERMISSION_DENIED"));
    CHECK(judge_fcm(answer(403, fcm_error_body("PERMISSION_DENIED", "SENDER_ID_MISMATCH"))) ==
          verdict(foreign, 0s, "403 SENDER_ID_MISMATCH"));
    CHECK(judge_fcm(answer(413)) == verdict(refused, 0s, "413"));
    CHECK(judge_fcm(answer(429, fcm_error_body("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), 7s)) ==
          verdict(throttled, 7s, "429 QUOTA_EXCEEDED"));
    CHECK(judge_fcm(answer(429)) == verdict(throttled, 60s, "429"));
    CHECK(judge_fcm(answer(500, fcm_error_body("INTERNAL", "INTERNAL"))) ==
          verdict(failed, 0s, "500 INTERNAL"));
    CHECK(judge_fcm(answer(503, fcm_error_body("UNAVAILABLE", "UNAVAILABLE"), 30s)) ==
          verdict(failed, 30s, "503 UNAVAILABLE"));
    CHECK(judge_fcm(answer(302, "")) == verdict(failed, 0s, "302"));
    CHECK(judge_fcm(answer(500, fcm_error_body("<b>"))) == verdict(failed, 0s, "500"));
    CHECK(judge_fcm(ended(End::timed_out, "slow")) == verdict(timed_out, 0s, "slow"));
    CHECK(judge_fcm(ended(End::unreachable, "reset")) == verdict(unreachable, 0s, "reset"));
}

TEST_CASE("FCM's 400 ends a client only where it is about the token alone", "[bridge]") {
    using enum BridgeOutcome;
    const json fcm{{"@type", "type.googleapis.com/google.firebase.fcm.v1.FcmError"},
                   {"errorCode", "INVALID_ARGUMENT"}};
    const auto fields = [](const std::vector<std::string>& names) {
        json violations = json::array();
        for (const auto& name : names) violations.push_back({{"field", name}});
        return json{{"@type", "type.googleapis.com/google.rpc.BadRequest"},
                    {"fieldViolations", violations}};
    };
    const auto outcome = [](const std::string& message, const json& details) {
        const json body{{"error",
                         {{"code", 400},
                          {"message", message},
                          {"status", "INVALID_ARGUMENT"},
                          {"details", details}}}};
        return judge_fcm(answer(400, body.dump())).outcome;
    };
    const std::string no_token = "The registration token is not a valid FCM registration token";
    CHECK(outcome(no_token, json::array({fcm})) == gone);
    CHECK(outcome("Request contains an invalid argument.",
                  json::array({fcm, fields({"message.token"})})) == gone);
    CHECK(outcome(no_token, json::array({fields({"message.data[0].value"})})) == refused);
    CHECK(outcome("", json::array({fcm, fields({"message.token", "message.android.ttl"})})) ==
          refused);
    CHECK(outcome("Request contains an invalid argument.", json::array({fcm})) == refused);
    CHECK(outcome(no_token, json::array()) == refused);
    CHECK(outcome(no_token, json::array({7, nullptr, fields({}), json{{"fieldViolations", 1}}})) ==
          refused);
}

TEST_CASE("each answer of APNs has its verdict", "[bridge]") {
    using enum BridgeOutcome;
    const auto judge = [](int status, const std::string& reason,
                          std::optional<std::chrono::seconds> retry_after = {}) {
        return judge_apns(
            answer(status, reason.empty() ? "" : json{{"reason", reason}}.dump(), retry_after));
    };
    const auto verdict = [](BridgeOutcome outcome, std::chrono::seconds wait, std::string why) {
        return BridgeVerdict{outcome, wait, std::move(why)};
    };
    CHECK(judge(200, "") == verdict(accepted, 0s, ""));
    CHECK(judge(410, "Unregistered") == verdict(gone, 0s, "410 Unregistered"));
    CHECK(judge(410, "ExpiredToken") == verdict(gone, 0s, "410 ExpiredToken"));
    CHECK(judge(400, "BadDeviceToken") == verdict(foreign, 0s, "400 BadDeviceToken"));
    CHECK(judge(400, "DeviceTokenNotForTopic") ==
          verdict(foreign, 0s, "400 DeviceTokenNotForTopic"));
    CHECK(judge(400, "BadTopic") == verdict(refused, 0s, "400 BadTopic"));
    CHECK(judge(400, "IdleTimeout") == verdict(failed, 0s, "400 IdleTimeout"));
    CHECK(judge(400, "") == verdict(failed, 0s, "400"));
    CHECK(judge(403, "ExpiredProviderToken") ==
          verdict(unauthorized, 0s, "403 ExpiredProviderToken"));
    CHECK(judge(403, "InvalidProviderToken") ==
          verdict(unauthorized, 0s, "403 InvalidProviderToken"));
    CHECK(judge(403, "Forbidden") == verdict(unauthorized, 0s, "403 Forbidden"));
    CHECK(judge(404, "BadPath") == verdict(failed, 0s, "404 BadPath"));
    CHECK(judge(405, "MethodNotAllowed") == verdict(failed, 0s, "405 MethodNotAllowed"));
    CHECK(judge(413, "PayloadTooLarge") == verdict(refused, 0s, "413 PayloadTooLarge"));
    CHECK(judge(429, "TooManyRequests") == verdict(throttled, 60s, "429 TooManyRequests"));
    CHECK(judge(429, "TooManyRequests", 9s) == verdict(throttled, 9s, "429 TooManyRequests"));
    CHECK(judge(429, "TooManyProviderTokenUpdates") ==
          verdict(unauthorized, 0s, "429 TooManyProviderTokenUpdates"));
    CHECK(judge(500, "InternalServerError") == verdict(failed, 0s, "500 InternalServerError"));
    CHECK(judge(503, "Shutdown", 5s) == verdict(failed, 5s, "503 Shutdown"));
    CHECK(judge_apns(ended(End::unreachable, "HTTP/2 stream 1 was reset")) ==
          verdict(unreachable, 0s, "HTTP/2 stream 1 was reset"));
}
