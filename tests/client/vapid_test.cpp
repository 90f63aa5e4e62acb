#include "client/vapid.hpp"

#include "core/base64url.hpp"
#include "support/temp_dir.hpp"
#include "support/verify_jwt.hpp"

#include <fstream>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

using namespace beckon;
using namespace beckon::client;
using nlohmann::json;
using test::verify_jwt;

namespace {

const VapidClaims kClaims{.audience = "https://push.example.net",
                          .expires = std::chrono::seconds{1453523768},
                          .subject = "mailto:push@example.com"};

void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream{file} << text;
}

}  // namespace

TEST_CASE("the token of RFC 8292 section 2.4 verifies") {
    const auto point = core::parse_base64url(
        "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs");
    const std::string token =
        "eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9."
        "eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdX"
        "N"
        "oQGV4YW1wbGUuY29tIn0."
        "i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA";
    CHECK(json::parse(verify_jwt(token, *point).value()) ==
          json{{"aud", "https://push.example.net"},
               {"exp", 1453523768},
               {"sub", "mailto:push@example.com"}});
    std::string changed = token;
    changed[60] = changed[60] == 'a' ? 'b' : 'a';
    CHECK_FALSE(verify_jwt(changed, *point));
    CHECK_FALSE(verify_jwt("no.token", *point));
}

TEST_CASE("a signed token verifies with its key and with no other") {
    const auto key = P256Key::generate();
    const auto token = sign_jwt(key, kClaims);
    CHECK(json::parse(verify_jwt(token, key.public_point()).value())["exp"] == 1453523768);
    CHECK_FALSE(verify_jwt(token, P256Key::generate().public_point()));
}

TEST_CASE("without a subject none is claimed") {
    const auto key = P256Key::generate();
    auto claims = kClaims;
    claims.subject.clear();
    const auto text = verify_jwt(sign_jwt(key, claims), key.public_point()).value();
    CHECK_FALSE(json::parse(text).contains("sub"));
}

TEST_CASE("both schemes carry token and key where the push service looks") {
    const auto key = P256Key::generate();
    const auto point = core::base64url(key.public_point());
    const auto now = vapid_headers(key, kClaims, VapidScheme::vapid);
    CHECK(now.authorization.starts_with("vapid t=ey"));
    CHECK(now.authorization.ends_with(", k=" + point));
    CHECK(now.crypto_key.empty());
    const auto before = vapid_headers(key, kClaims, VapidScheme::webpush);
    CHECK(before.authorization.starts_with("WebPush ey"));
    CHECK(before.crypto_key == "p256ecdsa=" + point);
}

TEST_CASE("a key file is made once, private, and read again") {
    const test::TempDir dir;
    const auto file = dir / "vapid.json";
    CHECK(load_vapid_key(file, IfMissing::fail).error().fault == core::Fault::not_found);
    const auto made = load_vapid_key(file, IfMissing::create).value();
    CHECK(load_vapid_key(file, IfMissing::create).value().public_point() == made.public_point());
    struct stat info {};
    REQUIRE(stat(file.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("a PEM private key is read") {
    const test::TempDir dir;
    const auto file = dir / "private_key.pem";
    write(file,
          "-----BEGIN "
          "PRIVATE KEY-----\n"
          "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNhSuBEwj9BRO3RPV\nCtNyq+eyICe5m3NuQnWt/"
          "LHmN+"
          "yhRANCAAS23qZo4vL4wNWCW4lRGwojFuFfFth1\nQZEjiwJGCfQ75RT5uXCoWFDchKrA8LU7OmZgb27cL97gShKm"
          "LRi2dIv4\n"
          "-----END "
          "PRIVATE KEY-----\n");
    const auto key = load_vapid_key(file, IfMissing::fail).value();
    CHECK(
        core::base64url(key.public_point()) ==
        "BLbepmji8vjA1YJbiVEbCiMW4V8W2HVBkSOLAkYJ9DvlFPm5cKhYUNyEqsDwtTs6ZmBvbtwv3uBKEqYtGLZ0i_g");
}

TEST_CASE("a key file of a wrong form says what is wrong") {
    const test::TempDir dir;
    const auto file = dir / "vapid.json";
    const auto text = GENERATE("", "{}", "[]", R"({"privateKey":5})", R"({"privateKey":"*"})",
                               R"({"privateKey":"AAAA"})",
                               R"({"privateKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"})",
                               "-----BEGIN PRIVATE KEY-----\nxx\n-----END PRIVATE KEY-----\n");
    CAPTURE(text);
    write(file, text);
    const auto error = load_vapid_key(file, IfMissing::create).error();
    CHECK(error.fault == core::Fault::invalid);
    CHECK_FALSE(error.message.empty());
}
