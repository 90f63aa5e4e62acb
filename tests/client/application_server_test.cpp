#include "client/application_server.hpp"

#include "client/url.hpp"
#include "core/base64url.hpp"
#include "support/fake_push_server.hpp"
#include "support/test_socket.hpp"
#include "support/verify_jwt.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::client;
using nlohmann::json;
using test::FakePushServer;
using test::verify_jwt;

namespace {

Subscription subscription_at(const FakePushServer& server) {
    return {"http://127.0.0.1:" + std::to_string(server.port()) + "/wpush/token",
            ReceiverKeys::generate().subscription()};
}

}  // namespace

TEST_CASE("a request carries what RFC 8030, 8291 and 8292 ask for") {
    FakePushServer server;
    server.answer_next_post({201, {{"Location", "/m/1"}, {"TTL", "60"}}, ""});
    const auto key = P256Key::generate();
    ApplicationServer sender{{.vapid = key, .subject = "mailto:ops@example.com"}};
    const auto to = subscription_at(server);
    const auto reply =
        sender.send(to, {.text = "x", .ttl_s = 60, .topic = "news", .urgency = "high"}).value();
    CHECK(reply.status == 201);
    CHECK(reply.header("ttl") == "60");
    CHECK(message_url(to.endpoint, reply).value() ==
          "http://127.0.0.1:" + std::to_string(server.port()) + "/m/1");

    const auto request = server.requests().at(0);
    CHECK(request.method == "POST");
    CHECK(request.target == "/wpush/token");
    CHECK(request.headers.at("ttl") == "60");
    CHECK(request.headers.at("topic") == "news");
    CHECK(request.headers.at("urgency") == "high");
    CHECK(request.headers.at("content-encoding") == "aes128gcm");
    CHECK_FALSE(request.headers.contains("crypto-key"));
    CHECK_FALSE(request.headers.contains("expect"));
    CHECK(request.body.size() == 86 + 1 + 1 + 16);

    const std::string authorization = request.headers.at("authorization");
    REQUIRE(authorization.starts_with("vapid t="));
    const std::string token = authorization.substr(8, authorization.find(',') - 8);
    const auto claims = json::parse(verify_jwt(token, key.public_point()).value());
    CHECK(claims["aud"] == "http://127.0.0.1:" + std::to_string(server.port()));
    CHECK(claims["sub"] == "mailto:ops@example.com");
}

TEST_CASE("the older scheme and the older encoding share Crypto-Key") {
    FakePushServer server;
    server.answer_next_post({});
    ApplicationServer sender{{.vapid = P256Key::generate(), .scheme = VapidScheme::webpush}};
    REQUIRE(sender.send(subscription_at(server), {.text = "x", .encoding = Encoding::aesgcm}));
    const auto headers = server.requests().at(0).headers;
    CHECK(headers.at("content-encoding") == "aesgcm");
    CHECK(headers.at("authorization").starts_with("WebPush "));
    CHECK(headers.at("encryption").starts_with("salt="));
    CHECK(headers.at("crypto-key").starts_with("dh="));
    CHECK(headers.at("crypto-key").find(";p256ecdsa=") != std::string::npos);
}

TEST_CASE("a message without text has an empty body and no encoding") {
    FakePushServer server;
    server.answer_next_post({});
    ApplicationServer sender{{}};
    REQUIRE(sender.send(subscription_at(server).endpoint, {}));
    const auto request = server.requests().at(0);
    CHECK(request.body.empty());
    CHECK(request.headers.at("content-length") == "0");
    CHECK_FALSE(request.headers.contains("content-encoding"));
    CHECK_FALSE(request.headers.contains("content-type"));
    CHECK_FALSE(request.headers.contains("authorization"));
}

TEST_CASE("an error is parsed and explained, with what to do") {
    FakePushServer server;
    server.answer_next_post(
        {503,
         {{"Retry-After", "120"}, {"Content-Type", "application/json"}},
         R"({"code":503,"errno":201,"error":"Service Unavailable","message":"log is away",
             "more_info":"http://x"})"});
    ApplicationServer sender{{}};
    const auto reply = sender.send(subscription_at(server), {.text = "x"}).value();
    CHECK_FALSE(reply.accepted());
    CHECK(reply.error->number == 201);
    CHECK(explain(reply) ==
          "503: the push service cannot take messages now: send the same again later (the server "
          "asks to wait 120 s); its message: log is away (errno 201)");
}

TEST_CASE("a body that is not JSON is no error object, a null errno no number") {
    FakePushServer server;
    ApplicationServer sender{{}};
    server.answer_next_post({404, {}, ""});
    CHECK_FALSE(sender.send(subscription_at(server), {.text = "x"}).value().error);
    server.answer_next_post({500, {}, R"({"code":500,"errno":null,"message":"oops"})"});
    const auto reply = sender.send(subscription_at(server), {.text = "x"}).value();
    CHECK(reply.error->number == std::nullopt);
    CHECK(reply.error->message == "oops");
}

TEST_CASE("a message is taken back by its URL") {
    FakePushServer server;
    ApplicationServer sender{{}};
    const auto url = "http://127.0.0.1:" + std::to_string(server.port()) + "/m/v0";
    CHECK(sender.remove(url).value().status == 204);
    CHECK(server.requests().at(0).method == "DELETE");
    CHECK(server.requests().at(0).target == "/m/v0");
}

TEST_CASE("a server that cannot be reached is an error, not a reply") {
    const test::RefusingPort nobody;
    const Subscription to{"http://" + nobody.address() + "/wpush/token",
                          ReceiverKeys::generate().subscription()};
    ApplicationServer sender{{}};
    CHECK(sender.send(to, {.text = "x"}).error().fault == core::Fault::unavailable);
}

TEST_CASE("text needs keys, and must fit") {
    ApplicationServer sender{{}};
    CHECK(sender.send(std::string{"http://127.0.0.1:1/"}, {.text = "x"}).error().fault ==
          core::Fault::invalid);
    const Subscription to{"http://127.0.0.1:1/", ReceiverKeys::generate().subscription()};
    CHECK(sender.send(to, {.text = std::string(4096, 'x')}).error().fault ==
          core::Fault::too_large);
}

TEST_CASE("a subscription is written as browsers do and read again") {
    const Subscription subscription{"https://push.example.net/wpush/abc",
                                    ReceiverKeys::generate().subscription()};
    const auto text = to_json(subscription);
    CHECK(json::parse(text)["expirationTime"].is_null());
    CHECK(parse_subscription(text).value() == subscription);
}

TEST_CASE("a subscription of a wrong form says which member is wrong") {
    const auto [text, why] = GENERATE(table<std::string, std::string>({
        {"", "not JSON"},
        {"[]", "not JSON"},
        {"{}", "endpoint"},
        {R"({"endpoint":5})", "endpoint"},
        {R"({"endpoint":"ftp://x/"})", "scheme"},
        {R"({"endpoint":"https://x/"})", "keys"},
        {R"({"endpoint":"https://x/","keys":{}})", "keys.p256dh"},
        {R"({"endpoint":"https://x/","keys":{"p256dh":"AAAA"}})", "65 bytes"},
    }));
    CAPTURE(text);
    CHECK_THAT(parse_subscription(text).error().message, Catch::Contains(why));
}

TEST_CASE("URLs are taken apart") {
    CHECK(parse_url("ws://localhost").value() == Url{"ws", "localhost", 80, "/"});
    CHECK(parse_url("WSS://[::1]:8080?x").value() == Url{"wss", "::1", 8080, "/?x"});
    CHECK(parse_url("https://push.example.net:443/a/b?c").value().origin() ==
          "https://push.example.net");
    CHECK(parse_url("http://[::1]:8082/a").value().origin() == "http://[::1]:8082");
    CHECK(parse_url("http://h:").value() == Url{"http", "h", 80, "/"});  // RFC 3986 §6.2.3
    for (const char* text :
         {"", "localhost:80", "http://", "http://:80", "http://h:0", "http://h:65536",
          "http://h:8x", "http://[::1", "http://u@h", "http://h/ x", "http://h/#f", "ftp://h"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_url(text));
    }
}
