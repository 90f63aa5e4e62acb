#include "retry/attempt/signature.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon::retry;

TEST_CASE("a request is signed as Standard Webhooks has it in its own example",
          "[retry][signature]") {
    // The example that the specification's libraries test themselves with.
    const auto secret = parse_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    REQUIRE(secret);
    const std::vector<std::string> secrets{*secret};
    CHECK(webhook_signature(secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330s,
                            R"({"test": 2432232314})") ==
          "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST_CASE("while a secret is exchanged both sign", "[retry][signature]") {
    const std::vector<std::string> one{std::string(32, 'a')};
    const std::vector<std::string> two{std::string(32, 'b'), std::string(32, 'a')};
    const auto both = webhook_signature(two, "id", 1s, "body");
    CHECK(both.ends_with(" " + webhook_signature(one, "id", 1s, "body")));
}

TEST_CASE("secrets are long enough, and come back from their text", "[retry][signature]") {
    const auto secret = random_secret();
    CHECK(*parse_secret(secret_text(secret)) == secret);
    CHECK(secret != random_secret());
    CHECK(parse_secret("whsec_c2hvcnQ=").error().message ==
          "a secret has 24 to 64 bytes, this one has 5");
    CHECK(parse_secret("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").error().message ==
          "a secret begins with whsec_");
    CHECK(parse_secret("whsec_!").error().message == "a secret is whsec_ and base64");
}

TEST_CASE("HTTP Signatures cover further headers as they are sent", "[retry][signature]") {
    const std::vector<std::string> more{"ce-id: 42", "Content-Type: text/plain"};
    const auto sign = [&](std::span<const std::string> headers) {
        return http_signature({.id = "k", .secret = "key"},
                              {.method = "POST",
                               .target = "/",
                               .host = "example.org",
                               .body = "hi",
                               .headers = headers},
                              beckon::core::Timestamp{1'766'000'000'000ms})
            .back();
    };
    CHECK(sign(more).find("headers=\"(request-target) host date digest ce-id content-type\"") !=
          std::string::npos);
    // openssl dgst -sha256 -hmac key over the six lines that these are.
    CHECK(sign(more).ends_with("signature=\"AwQNjeEn/1HKgQmXKH6E1cmLxiqTVDBdf/5zCK6sBu0=\""));
    CHECK(sign(more) != sign({}));
}

TEST_CASE("a secret is kept as the text that it came as, or is refused", "[retry][signature]") {
    const std::string bytes = std::string(24, '\xfb') + "\xff";
    const auto text = secret_text(bytes);
    REQUIRE(text.find_first_of("+/") != std::string::npos);
    REQUIRE(text.ends_with("=="));
    CHECK(*parse_secret(text) == bytes);
    CHECK(*parse_secret(text.substr(0, text.size() - 2)) == bytes);
    auto url_safe = text;
    std::replace(url_safe.begin(), url_safe.end(), '+', '-');
    std::replace(url_safe.begin(), url_safe.end(), '/', '_');
    CHECK(parse_secret(url_safe).error().message.find("URL-safe") != std::string::npos);
    auto unused_bits = text;
    unused_bits[text.size() - 3] = 'x';
    for (const auto& other : {unused_bits, text.substr(0, text.size() - 1), text + "="}) {
        CAPTURE(other);
        CHECK_FALSE(parse_secret(other));
    }
}

TEST_CASE("HTTP Signatures cover request target, host, date and digest", "[retry][signature]") {
    const auto headers = http_signature(
        {.id = "hca:1", .secret = "key"},
        {.method = "POST", .target = "/hook?x=1", .host = "example.org", .body = "{}"},
        beckon::core::Timestamp{1'766'000'000'000ms});
    REQUIRE(headers.size() == 3);
    CHECK(headers[0] == "Date: Wed, 17 Dec 2025 19:33:20 GMT");
    CHECK(headers[1] == "Digest: SHA-256=RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=");
    CHECK(
        headers[2].starts_with("Authorization: Signature keyId=\"hca:1\","
                               "algorithm=\"hmac-sha256\","
                               "headers=\"(request-target) host date digest\",signature=\""));
    // openssl dgst -sha256 -hmac key over the four lines that these are.
    CHECK(headers[2].ends_with("signature=\"xmRboyOc3H5VWRh3jX4w6zfGMQDnNlTgCXdUqQ1Aki0=\""));
}
