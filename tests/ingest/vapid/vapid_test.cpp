#include "ingest/ingest_world.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;

namespace {

struct Row2 {
    std::string a, b;
};
struct Row3 {
    std::string a, b, c;
};

HttpReply unauthorized(const std::string& message) {
    HttpReply like;
    like.add("WWW-Authenticate", "vapid");
    return error(401, "109", "Unauthorized", message, like);
}

std::string claims_with(const IngestWorld& world, const std::string& aud, const std::string& exp,
                        const std::string& more = "") {
    (void)world;
    std::string text = "{";
    if (!aud.empty()) text += R"("aud":)" + aud;
    if (!exp.empty()) text += (text.size() > 1 ? "," : "") + std::string{R"("exp":)"} + exp;
    return text + more + "}";
}

const std::string kForm = "The VAPID token is not a JWT of three base64url parts without padding.";
const std::string kExp = "The VAPID token's exp must be seconds since 1970.";
const std::string kAud =
    "The VAPID token's aud must be one string, the endpoint's origin, or a list of it alone.";
const std::string kWrongAud =
    "The VAPID token's aud is not the origin of this endpoint; accepted: "
    "https://push.example.com:8443, https://push.example.com.";
const std::string kSignature = "The VAPID token's signature does not fit its key.";
const std::string kPoint = "The VAPID public key is not an uncompressed P-256 point.";

}  // namespace

TEST_CASE("each fault of Authorization has its answer") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto good = world.jwt(world.claims());
    const auto key = world.key_text();
    const auto now = world.now_s();
    const auto exp = std::to_string(now + 3600);
    const std::string aud = R"("https://push.example.com:8443")";
    const auto signed_with = [&](const std::string& claims) {
        return world.vapid_header(world.jwt(claims));
    };
    auto broken_signature = good;
    auto& broken = broken_signature[broken_signature.size() - 10];
    broken =
        broken == 'A' ? 'B' : 'A';  // another letter of the alphabet: only the signature is off
    const auto two_parts = good.substr(0, good.rfind('.'));
    const auto other_key = core::base64url(client::P256Key::generate().public_point());
    const auto compressed =
        core::base64url("\x02" + std::string{world.vapid_.public_point().substr(1, 32)});
    auto off_curve = world.vapid_.public_point();
    off_curve[40] ^= 1;

    const std::vector<Row3> rows{
        {"no space", "Bearer", "Authorization must be 'vapid t=<token>, k=<key>'."},
        {"other scheme", "Basic abc", "The Authorization scheme must be vapid, WebPush or Bearer."},
        {"empty scheme", " abc", "The Authorization scheme must be vapid, WebPush or Bearer."},
        {"no k", "vapid t=" + good, "Authorization lacks k, the VAPID public key."},
        {"no t", "vapid k=" + key, "Authorization lacks t, the VAPID token."},
        {"neither: k first", "vapid x=y", "Authorization lacks k, the VAPID public key."},
        {"key not base64", "vapid t=" + good + ",k=***", "The VAPID public key is not base64."},
        {"key too short", "vapid t=" + good + ",k=BAAA", kPoint},
        {"key compressed", "vapid t=" + good + ",k=" + compressed, kPoint},
        {"key off the curve", "vapid t=" + good + ",k=" + core::base64url(off_curve), kPoint},
        {"another key", "vapid t=" + good + ",k=" + other_key, kSignature},
        {"one part", "vapid t=abc,k=" + key, kForm},
        {"two parts", "vapid t=" + two_parts + ",k=" + key, kForm},
        {"four parts", "vapid t=" + good + ".abc,k=" + key, kForm},
        {"padding", "vapid t=" + good + "=,k=" + key, kForm},
        {"header not JSON", world.vapid_header(world.jwt(world.claims(), "nonsense")), kForm},
        {"claims not JSON", signed_with("nonsense"), kForm},
        {"claims no object", signed_with("[1]"), kForm},
        {"no alg", world.vapid_header(world.jwt(world.claims(), "{}")),
         "The VAPID token's alg must be ES256."},
        {"alg none", world.vapid_header(world.jwt(world.claims(), R"({"alg":"none"})")),
         "The VAPID token's alg must be ES256."},
        {"alg HS256", world.vapid_header(world.jwt(world.claims(), R"({"alg":"HS256"})")),
         "The VAPID token's alg must be ES256."},
        {"bad signature", world.vapid_header(broken_signature), kSignature},
        {"empty signature", world.vapid_header(two_parts + "."), kForm},
        {"no exp", signed_with(claims_with(world, aud, "")), kExp},
        {"negative exp", signed_with(claims_with(world, aud, "-1")), kExp},
        {"fraction below zero", signed_with(claims_with(world, aud, "-0.5")), kExp},
        {"fraction out of range", signed_with(claims_with(world, aud, "1e300")), kExp},
        {"exp as text", signed_with(claims_with(world, aud, "\"" + exp + "\"")), kExp},
        {"exp null", signed_with(claims_with(world, aud, "null")), kExp},
        {"exp out of range", signed_with(claims_with(world, aud, "18446744073709551615")), kExp},
        {"expired", signed_with(claims_with(world, aud, std::to_string(now - 61))),
         "The VAPID token has expired (exp)."},
        {"too far ahead", signed_with(claims_with(world, aud, std::to_string(now + 86'461))),
         "The VAPID token's exp is more than 24 hours ahead."},
        {"no aud", signed_with(claims_with(world, "", exp)), kAud},
        {"aud of two", signed_with(claims_with(world, "[" + aud + "," + aud + "]", exp)), kAud},
        {"aud of none", signed_with(claims_with(world, "[]", exp)), kAud},
        {"aud a list in a list", signed_with(claims_with(world, "[[" + aud + "]]", exp)), kAud},
        {"aud a list of another",
         signed_with(claims_with(world, R"(["https://other.example"])", exp)), kWrongAud},
        {"one quote", "vapid t=\"" + good + ",k=" + key, kForm},
        {"not of ASCII", "vapid t=" + good + ",k=" + key + ",x=\xc3\xbc",
         "Authorization must be of printable ASCII."},
        {"aud null", signed_with(claims_with(world, "null", exp)), kAud},
        {"aud of another", signed_with(claims_with(world, R"("https://other.example")", exp)),
         kWrongAud},
        {"aud with a slash",
         signed_with(claims_with(world, R"("https://push.example.com:8443/")", exp)), kWrongAud},
        {"aud of another port",
         signed_with(claims_with(world, R"("https://push.example.com:443")", exp)), kWrongAud},
        {"aud of another scheme",
         signed_with(claims_with(world, R"("http://push.example.com:8443")", exp)), kWrongAud},
        {"aud empty", signed_with(claims_with(world, R"("")", exp)), kWrongAud},
        {"aud in other case",
         signed_with(claims_with(world, R"("https://PUSH.example.com:8443")", exp)), kWrongAud},
        {"sub a number", signed_with(claims_with(world, aud, exp, R"(,"sub":5)")),
         "The VAPID token's sub must be a string."},
        {"sub an object", signed_with(claims_with(world, aud, exp, R"(,"sub":{})")),
         "The VAPID token's sub must be a string."},
        {"generation 1, key not base64", "WebPush " + good, "The VAPID public key is not base64."},
    };
    // On a token that is bound to the key, and on one that is bound to none: what is there must
    // hold.
    for (const auto& path : {target.path, world.subscribed(true).path}) {
        for (const auto& [what, header, message] : rows) {
            CAPTURE(what);
            CHECK(world.ask(IngestWorld::post(path)
                                .with("Authorization", header)
                                .with("Crypto-Key", "p256ecdsa=***")) == unauthorized(message));
        }
    }
    CHECK(world.notifications().empty());
}

TEST_CASE("every form of Authorization that senders use is accepted") {
    IngestWorld world{{.extra_audiences = {"https://old.example.net"}}};
    const auto bound = world.subscribed(true);  // the right key must come out of it
    const auto unbound = world.subscribed();
    const auto good = world.jwt(world.claims());
    const auto key = world.key_text();
    const auto now = world.now_s();
    const auto exp = std::to_string(now + 3600);
    const std::string aud = R"("https://push.example.com:8443")";
    std::string standard = key;
    for (auto& c : standard) c = c == '-' ? '+' : c == '_' ? '/' : c;
    const auto signed_with = [&](const std::string& claims) {
        return world.vapid_header(world.jwt(claims));
    };

    const std::vector<Row3> rows{
        {"blank after comma", "vapid t=" + good + ", k=" + key, ""},
        {"no blank", "vapid t=" + good + ",k=" + key, ""},
        {"other order", "vapid k=" + key + ",t=" + good, ""},
        {"any case", "VaPiD t=" + good + ",k=" + key, ""},
        {"key padded", "vapid t=" + good + ",k=" + key + "=", ""},
        {"key in standard base64", "vapid t=" + good + ",k=" + standard, ""},
        {"key in standard base64, padded", "vapid t=" + good + ",k=" + standard + "=", ""},
        {"blanks anywhere", "vapid   t = " + good + " , k = " + key + " ", ""},
        {"tabs for blanks", "vapid\tt=" + good + ",\tk=" + key + "\t", ""},
        {"names in any case", "vapid T=" + good + ", K=" + key, ""},
        {"quoted values", "vapid t=\"" + good + "\", k=\"" + key + "\"", ""},
        {"exp with a fraction", signed_with(claims_with(world, aud, exp + ".5")), ""},
        {"exp in another form of numbers",
         signed_with(claims_with(world, aud, std::to_string(now / 1000 + 3) + "e3")), ""},
        {"aud a list of one", signed_with(claims_with(world, "[" + aud + "]", exp)), ""},
        {"exp at the limit of a clock that is ahead",
         signed_with(claims_with(world, aud, std::to_string(now + 86'460))), ""},
        {"generation 1 after a tab", "WebPush\t" + good, "P256ECDSA=" + key},
        {"a parameter of others", "vapid x=y,t=" + good + ",k=" + key, ""},
        {"generation 1", "WebPush " + good, "p256ecdsa=" + key},
        {"generation 1, key in standard base64", "WebPush " + good, "p256ecdsa=" + standard + "="},
        {"generation 1, first section counts", "WebPush " + good,
         "p256ecdsa=" + key + ",p256ecdsa=BBBB"},
        {"generation 1 as Bearer", "Bearer " + good, "p256ecdsa=" + key},
        {"generation 1, quoted", "webpush " + good, "p256ecdsa=\"" + key + "\""},
        {"generation 1 with dh", "WebPush " + good, "dh=BBBB;p256ecdsa=" + key},
        {"generation 1, own section", "WebPush " + good, "dh=BBBB,p256ecdsa=" + key},
        {"sub null", signed_with(claims_with(world, aud, exp, R"(,"sub":null)")), ""},
        {"sub empty", signed_with(claims_with(world, aud, exp, R"(,"sub":"")")), ""},
        {"sub no contact", signed_with(claims_with(world, aud, exp, R"(,"sub":"me")")), ""},
        {"no typ in the header",
         world.vapid_header(world.jwt(world.claims(), R"({"alg":"ES256"})")), ""},
        {"no sub, other claims",
         signed_with(claims_with(world, aud, exp, R"(,"nbf":99999999999,"iat":"x")")), ""},
        {"exp at the leeway", signed_with(claims_with(world, aud, std::to_string(now - 60))), ""},
        {"exp at the limit", signed_with(claims_with(world, aud, std::to_string(now + 86'400))),
         ""},
        {"aud without port", signed_with(claims_with(world, R"("https://push.example.com")", exp)),
         ""},
        {"extra audience", signed_with(claims_with(world, R"("https://old.example.net")", exp)),
         ""},
    };
    for (const auto& [what, header, crypto_key] : rows) {
        CAPTURE(what);
        for (const auto& path : {bound.path, unbound.path}) {
            auto request = IngestWorld::post(path).with("Authorization", header);
            if (!crypto_key.empty()) request = request.with("Crypto-Key", crypto_key);
            CHECK(world.ask(request).status == 201);
        }
    }
}

TEST_CASE("generation 1 without a usable Crypto-Key is 400/110") {
    IngestWorld world;
    const auto target = world.subscribed();
    const std::vector<Row2> rows{
        {"(absent)", "Crypto-Key with p256ecdsa is required with this Authorization."},
        {"p256ecdsa", "Crypto-Key is not a list of name=value items."},
        {"dh=abc;", "Crypto-Key is not a list of name=value items."},
        {"dh=abc", "Crypto-Key must have a p256ecdsa with this Authorization."},
    };
    for (const auto& [crypto_key, message] : rows) {
        CAPTURE(crypto_key);
        auto request = IngestWorld::post(target.path)
                           .with("Authorization", "WebPush " + world.jwt(world.claims()));
        if (crypto_key != "(absent)") request = request.with("Crypto-Key", crypto_key);
        CHECK(world.ask(request) == error(400, "110", "Bad Request", message));
    }
}

TEST_CASE("the audiences of an origin") {
    using ingest::accepted_audiences;
    using List = std::vector<std::string>;
    CHECK(accepted_audiences("https://a.example", {}) ==
          List{"https://a.example", "https://a.example:443"});
    CHECK(accepted_audiences("http://a.example", {}) ==
          List{"http://a.example", "http://a.example:80"});
    CHECK(accepted_audiences("https://a.example:8443", {"x"}) ==
          List{"https://a.example:8443", "https://a.example", "x"});
    CHECK(accepted_audiences("https://a.example:443", {}) ==
          List{"https://a.example:443", "https://a.example"});
    CHECK(accepted_audiences("http://a.example:443", {}) ==
          List{"http://a.example:443", "http://a.example"});
    CHECK(accepted_audiences("https://[::1]:8443", {}) ==
          List{"https://[::1]:8443", "https://[::1]"});
    CHECK(accepted_audiences("https://[::1]:443", {}) ==
          List{"https://[::1]:443", "https://[::1]"});
    CHECK(accepted_audiences("https://[::1]", {}) == List{"https://[::1]", "https://[::1]:443"});
}

TEST_CASE("a verified token is verified once, and its time is checked on every use") {
    IngestWorld world;
    ingest::VapidVerifier verifier{ingest::accepted_audiences(IngestWorld::kOrigin, {}), 10};
    int asked = 0;
    const auto may = [&]() -> ingest::Checked<void> {
        ++asked;
        return {};
    };
    const auto token = world.jwt(world.claims(100));
    const auto key = world.key_text();
    const auto verify = [&] {
        return verifier.verify({token, key}, world.clock_.wall(), may).has_value();
    };
    CHECK(verify());
    CHECK(verifier.last_outcome() == ingest::VapidOutcome::verified);
    CHECK(verify());
    CHECK(verifier.last_outcome() == ingest::VapidOutcome::hit);
    world.clock_.advance(std::chrono::seconds{160});
    CHECK(verify());  // the leeway
    CHECK(asked == 1);
    world.clock_.advance(std::chrono::seconds{1});
    CHECK_FALSE(verify());
    CHECK(verifier.cached() == 0);
    CHECK_FALSE(verify());
    CHECK(asked == 2);
}

TEST_CASE("the cache of verified tokens forgets the least recently used") {
    ingest::VapidCache cache{2};
    const auto digest = [](std::uint8_t n) { return core::Sha256{n}; };
    cache.put(digest(1), {10, {}});
    cache.put(digest(2), {20, {}});
    CHECK(cache.find(digest(1))->exp_s == 10);
    cache.put(digest(3), {30, {}});
    CHECK(cache.size() == 2);
    CHECK_FALSE(cache.find(digest(2)));
    CHECK(cache.find(digest(1)));
    CHECK(cache.find(digest(3)));
    cache.erase(digest(1));
    cache.put(digest(4), {40, {}});
    cache.put(digest(4), {41, {}});
    CHECK(cache.find(digest(4))->exp_s == 41);
    CHECK(cache.find(digest(3)));
    CHECK(cache.size() == 2);
    ingest::VapidCache none{0};
    none.put(digest(1), {10, {}});
    CHECK(none.size() == 0);
}

TEST_CASE("a flood of made-up tokens pushes out none that is used again") {
    ingest::VapidCache cache{10};
    const auto digest = [](std::uint8_t n) { return core::Sha256{n}; };
    for (std::uint8_t honest = 1; honest <= 5; ++honest) {
        cache.put(digest(honest), {10, {}});
        CHECK(cache.find(digest(honest)));
    }
    for (std::uint8_t made_up = 100; made_up < 200; ++made_up) cache.put(digest(made_up), {20, {}});
    for (std::uint8_t honest = 1; honest <= 5; ++honest) CHECK(cache.find(digest(honest)));
    CHECK(cache.size() == 10);
    // More of them than there is space: the least recently used makes way.
    for (std::uint8_t more = 200; more < 220; ++more) {
        cache.put(digest(more), {30, {}});
        CHECK(cache.find(digest(more)));
    }
    CHECK(cache.size() == 10);
    CHECK_FALSE(cache.find(digest(1)));
    CHECK(cache.find(digest(219)));
}

namespace {

/// A token whose signature was altered.
std::string forged_header(const IngestWorld& world, int n) {
    auto token = world.jwt(world.claims(3600 + n));
    auto& letter = token[token.size() - 40];
    letter = letter == 'A' ? 'B' : 'A';
    return world.vapid_header(token);
}

}  // namespace

TEST_CASE("an address that sends many forged tokens receives a Retry-After, and only it") {
    IngestWorld world{{.failed_vapid_per_minute = 3}};
    const auto target = world.subscribed();
    const auto good = IngestWorld::post(target.path).with("Authorization", world.vapid_header());
    CHECK(world.ask(good).status == 201);
    int n = 0;
    const auto bad = [&] {
        return IngestWorld::post(target.path).with("Authorization", forged_header(world, ++n));
    };
    for (int i = 0; i < 3; ++i) CHECK(world.ask(bad()).status == 401);
    HttpReply like;
    like.add("Retry-After", "20");
    CHECK(world.ask(bad()) ==
          error(429, "null", "Too Many Requests",
                "Too many requests with an invalid VAPID token from this address.", like));
    CHECK(world.ask(good).status == 201);  // cached: costs nothing
    auto elsewhere = bad();
    elsewhere.peer = "192.0.2.8";
    CHECK(world.ask(elsewhere).status == 401);
    world.run_loops(std::chrono::seconds{21});
    CHECK(world.ask(bad()).status == 401);
}

TEST_CASE("tokens that are refused without a look at their signature are not counted") {
    IngestWorld world{{.failed_vapid_per_minute = 1}};
    const auto target = world.subscribed();
    const auto expired = world.vapid_header(world.jwt(world.claims(-3600)));
    for (int i = 0; i < 5; ++i) {
        CHECK(world.ask(IngestWorld::post(target.path).with("Authorization", expired)).status ==
              401);
    }
}

TEST_CASE("without a limit forged tokens are refused for ever, never with a Retry-After") {
    IngestWorld world{{.failed_vapid_per_minute = 0}};
    const auto target = world.subscribed();
    for (int i = 0; i < 20; ++i) {
        CHECK(
            world.ask(IngestWorld::post(target.path).with("Authorization", forged_header(world, i)))
                .status == 401);
    }
}

TEST_CASE("behind a proxy that nobody has named one client does not stop the others") {
    IngestWorld world{{.failed_vapid_per_minute = 2}};
    const auto target = world.subscribed();
    int n = 0;
    const auto from = [&](const std::string& client) {
        return IngestWorld::post(target.path)
            .with("Authorization", forged_header(world, ++n))
            .with("X-Forwarded-For", "10.1.1.1, " + client);
    };
    CHECK(world.ask(from("198.51.100.1")).status == 401);
    CHECK(world.ask(from("198.51.100.1")).status == 401);
    CHECK(world.ask(from("198.51.100.1")).status == 429);
    CHECK(world.ask(from("198.51.100.2")).status == 401);
    SECTION("who makes clients up is stopped all the same") {
        int refused = 0;
        for (int i = 0; i < 100; ++i) {
            const auto made_up = "198.51.101." + std::to_string(i);
            refused += world.ask(from(made_up)).status == 429 ? 1 : 0;
        }
        CHECK(refused > 50);
    }
}
