#include "core/tokens.hpp"

#include "core/base64url.hpp"

#include <numeric>
#include <set>

#include <catch2/catch.hpp>

using namespace beckon::core;
using Form = Tokens::Form;

namespace {

const Uaid kUaid{*parse_hex16("0f1e2d3c4b5a49788796a5b4c3d2e1f0")};
const ChannelId kChannel{*parse_hex16("11112222333344445555666677778888")};
const MessageKey kKey{*parse_hex16("0192f0c1a2b37abc8def0123456789ab")};

// Compact forms, computed with Python's cryptography (HKDF, AESSIV) from the secrets below.
constexpr auto kToken = "AM5Fw3WM4m_1PztqRRgMMeHRfXFYkpTO7UgXTPAp_PqqKJKt55bgtEw42LWiQERFVg";
constexpr auto kBoundToken =
    "AdCCdGLeLyIHvbq-1zQEI1UvEvVxCLaxc5HniJgF4d6q9WOCO2g-aGcc2Tjfc8LSGsX4VU-hZBDQ-h-ArXxvW5E";
constexpr auto kMessageId = "ApahQGNEhPnttIT_sRV96RSCy7tynwqcXbnEuD2T_gGS_SyCe8W0O-rHBpUQzTpKCQ";
constexpr auto kTokenOfKey5 = "FP8uceVYuOYg4dmLlE8P8rmV0BeIYOWuZx8wabOR_XQhjLGnxMEIHZPbirAmRNVNkQ";
constexpr auto kMessageIdOfKey5 =
    "Fm_t0dRWgVhSCSIg7pM7ii9FiNop_o2htIgtj2FJ6-P9klDvGPVQgniSdMjnjGq7Cw";

// Fernet forms: the vectors of the specification.
constexpr auto kFernetKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
constexpr auto kOtherFernetKey = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=";
constexpr auto kV1 =
    "gAAAAABlU_EAEBESExQVFhcYGRobHB0eH8t4sR4JLw7BkeTgisdwXAZpU5w-"
    "LXrnRVfMkljwC0IBxmqirHy3bjPQ7haBD7__pBlmq7ZcaPwdgwfFybhPz2lB7Bx_LHBq8ScixMS529qq";
constexpr auto kV2 =
    "gAAAAABlU_EAEBESExQVFhcYGRobHB0eH8t4sR4JLw7BkeTgisdwXAZpU5w-LXrnRVfMkljwC0IB__"
    "MjgxYiQHx8QA-JfP4H9ptqmxpK-2UJItOwWBfPBREkXQ5lC8wzunnAoftQ396_5lLKIXWPJqW373Qe-"
    "ZPSJNDpuKYF5d3DR_MPVp3_4EY";
const Timestamp kMadeAt{std::chrono::milliseconds{1'700'000'000'000}};

std::string vapid_key() {
    std::string key(65, '\4');
    std::iota(key.begin() + 1, key.end(), '\0');
    return key;
}

Secret32 secret_from(std::uint8_t first) {
    Secret32 secret{};
    std::iota(secret.begin(), secret.end(), first);
    return secret;
}

std::shared_ptr<const KeyRing> ring_of(std::vector<KeyRing::Key> keys,
                                       std::vector<std::string> crypto_keys = {}) {
    return std::make_shared<KeyRing>(std::move(keys), std::move(crypto_keys),
                                     std::vector<std::string>{});
}
const KeyRing::Key kKey0{.id = 0, .secret = secret_from(0), .created = {}};
const KeyRing::Key kKey5{.id = 5, .secret = secret_from(32), .created = {}};

Tokens tokens() { return Tokens{ring_of({kKey0}, {kFernetKey})}; }

const EndpointToken kPlain{kUaid, kChannel, ""};

std::string half_hash() {
    const auto sha = sha256(vapid_key());
    return {reinterpret_cast<const char*>(sha.data()), 16};
}
std::string whole_hash() {
    const auto sha = sha256(vapid_key());
    return {reinterpret_cast<const char*>(sha.data()), 32};
}

/// One other character that is base64url, too.
char other(char c) { return c == 'A' ? 'B' : 'A'; }

}  // namespace

TEST_CASE("SHA-256 of the specification's VAPID key") {
    const auto sha = sha256(vapid_key());
    CHECK(hex({reinterpret_cast<const char*>(sha.data()), sha.size()}) ==
          "6bcda99d58e5962b91d70f9c5d248e078f77df6a8b3d8c84f81f393911215828");
    CHECK(sha256("") != sha);
    CHECK(sha256(vapid_key()) == sha);  // the context is used again
}

// ------------------------------------------------------------------------- compact tokens

TEST_CASE("compact tokens are AES-SIV under a key of their purpose") {
    auto with_key0 = tokens();
    CHECK(with_key0.seal_endpoint(kUaid, kChannel) == kToken);
    CHECK(with_key0.seal_endpoint(kUaid, kChannel, sha256(vapid_key())) == kBoundToken);
    CHECK(with_key0.seal_message({kUaid, kKey}) == kMessageId);
    Tokens with_key5{ring_of({kKey5})};
    CHECK(with_key5.seal_endpoint(kUaid, kChannel) == kTokenOfKey5);
    CHECK(with_key5.seal_message({kUaid, kKey}) == kMessageIdOfKey5);
}

TEST_CASE("sealed tokens open again, and have the length of their kind") {
    auto t = tokens();
    for (int i = 0; i < 200; ++i) {
        const Uaid uaid{random_uuid4()};
        const ChannelId channel{random_uuid4()};
        const auto token = t.seal_endpoint(uaid, channel);
        REQUIRE(token.size() == 66);
        REQUIRE(*t.open_endpoint(token, Form::any, kMadeAt) == EndpointToken{uaid, channel, ""});
        const auto bound = t.seal_endpoint(uaid, channel, sha256(vapid_key()));
        REQUIRE(bound.size() == 87);
        REQUIRE(*t.open_endpoint(bound, Form::any, kMadeAt) ==
                EndpointToken{uaid, channel, half_hash()});
        const MessageRef message{uaid, new_message_key(kMadeAt)};
        const auto id = t.seal_message(message);
        REQUIRE(id.size() == 66);
        REQUIRE(*t.open_message(id) == message);
    }
}

TEST_CASE("equal plaintexts give equal tokens: a URL stays the same") {
    auto t = tokens();
    CHECK(t.seal_endpoint(kUaid, kChannel) == t.seal_endpoint(kUaid, kChannel));
}

TEST_CASE("a bound token admits its VAPID key alone, an unbound one any") {
    auto t = tokens();
    const auto right = sha256(vapid_key());
    auto wrong = right;
    wrong[15] ^= 1;
    const auto compact = *t.open_endpoint(kBoundToken, Form::any, kMadeAt);
    CHECK(compact.admits(right));
    CHECK_FALSE(compact.admits(wrong));
    const auto fernet = *t.open_endpoint(kV2, Form::any, kMadeAt);
    CHECK(fernet.admits(right));
    CHECK_FALSE(fernet.admits(wrong));
    CHECK(kPlain.admits(wrong));
    auto late = right;
    late[31] ^= 1;  // a compact token holds the first half only
    CHECK(compact.admits(late));
    CHECK_FALSE(fernet.admits(late));
}

TEST_CASE("after a rotation the new key seals and the old ones still open") {
    Tokens rotated{ring_of({kKey0, kKey5})};
    CHECK(rotated.seal_endpoint(kUaid, kChannel) == kTokenOfKey5);
    CHECK(*rotated.open_endpoint(kToken, Form::any, kMadeAt) == kPlain);
    CHECK(*rotated.open_endpoint(kTokenOfKey5, Form::any, kMadeAt) == kPlain);
    CHECK(*rotated.open_message(kMessageId) == MessageRef{kUaid, kKey});
    CHECK(*rotated.open_message(kMessageIdOfKey5) == MessageRef{kUaid, kKey});
}

TEST_CASE("a token of another key ring is unauthorized") {
    Tokens other_ring{ring_of({{.id = 0, .secret = secret_from(9), .created = {}}})};
    const auto opened = other_ring.open_endpoint(kToken, Form::any, kMadeAt);
    CHECK(opened.error() ==
          Error{Fault::unauthorized, "not made by this key ring, or changed since"});
    CHECK(other_ring.open_message(kMessageId).error().fault == Fault::unauthorized);
    CHECK(other_ring.open_endpoint(kTokenOfKey5, Form::any, kMadeAt).error() ==
          Error{Fault::unauthorized, "no key 5 in the key ring"});
    CHECK(other_ring.open_message(kMessageIdOfKey5).error() ==
          Error{Fault::unauthorized, "no key 5 in the key ring"});
}

TEST_CASE("no changed bit of a token or message id goes unnoticed") {
    auto t = tokens();
    for (const std::string text : {kToken, kBoundToken, kMessageId, kV1, kV2}) {
        const auto bytes = *parse_base64url(text);
        for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
            auto changed = bytes;
            changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
            CAPTURE(text, bit);
            REQUIRE_FALSE(t.open_endpoint(base64url(changed), Form::any, kMadeAt));
            REQUIRE_FALSE(t.open_message(base64url(changed)));
        }
        // Nor does a refusal leave anything behind.
        REQUIRE((t.open_endpoint(text, Form::any, kMadeAt) || t.open_message(text)));
    }
}

TEST_CASE("no changed character is tolerated, not even in unused bits") {
    auto t = tokens();
    const std::string token = kBoundToken;
    for (std::size_t i = 0; i < token.size(); ++i) {
        auto changed = token;
        changed[i] = other(changed[i]);
        CAPTURE(i);
        REQUIRE_FALSE(t.open_endpoint(changed, Form::any, kMadeAt));
    }
}

TEST_CASE("a truncated or lengthened token is invalid, and so is a text that is no base64url") {
    auto t = tokens();
    for (const std::string token : {kToken, kBoundToken, kV1, kV2}) {
        for (std::size_t size = 0; size < token.size(); ++size) {
            CAPTURE(size);
            const auto opened = t.open_endpoint(token.substr(0, size), Form::any, kMadeAt);
            REQUIRE_FALSE(opened);
            // The head of a v2 token has the length of a v1 token: only its MAC gives it away.
            const bool looks_whole = size == 66 || size == 87 || size == 140;
            REQUIRE((opened.error().fault == Fault::invalid || looks_whole));
        }
        CHECK(t.open_endpoint(token + "A", Form::any, kMadeAt).error().fault == Fault::invalid);
    }
    CHECK(t.open_endpoint("", Form::any, kMadeAt).error() ==
          Error{Fault::invalid, "it has 0 characters; allowed: 66, 87, 140, 183"});
    CHECK(t.open_endpoint(std::string(66, '!'), Form::any, kMadeAt).error() ==
          Error{Fault::invalid, "it is not base64url"});
    CHECK(t.open_endpoint(std::string(100'000, 'A'), Form::any, kMadeAt).error().fault ==
          Fault::invalid);
    CHECK(t.open_message("").error() == Error{Fault::invalid, "it has 0 characters; allowed: 66"});
    CHECK(t.open_message(std::string(66, '+')).error() ==
          Error{Fault::invalid, "it is not base64url"});
}

TEST_CASE("kinds do not pass for each other") {
    auto t = tokens();
    CHECK(t.open_endpoint(kMessageId, Form::any, kMadeAt).error() ==
          Error{Fault::invalid, "it is no endpoint token"});
    CHECK(t.open_message(kToken).error() == Error{Fault::invalid, "it is no message id"});
    CHECK(t.open_message(kV1).error().fault == Fault::invalid);

    auto bytes = *parse_base64url(kMessageId);
    bytes[0] = 0;  // a message id that claims to be a token
    CHECK(t.open_endpoint(base64url(bytes), Form::any, kMadeAt).error().fault ==
          Fault::unauthorized);
    bytes[0] = 1;  // a bound token of the length of an unbound one
    CHECK(t.open_endpoint(base64url(bytes), Form::any, kMadeAt).error() ==
          Error{Fault::invalid, "it has 66 characters; allowed: 87"});
    bytes[0] = 3;
    CHECK(t.open_endpoint(base64url(bytes), Form::any, kMadeAt).error() ==
          Error{Fault::invalid, "it is no endpoint token"});
    bytes[0] = '\x81';
    CHECK(t.open_endpoint(base64url(bytes), Form::any, kMadeAt).error() ==
          Error{Fault::invalid, "its first byte is of no form"});
    bytes[0] = '\x80';
    CHECK(t.open_endpoint(base64url(bytes), Form::any, kMadeAt).error() ==
          Error{Fault::invalid, "a Fernet token has 140 (v1) or 183 characters (v2)"});
}

// -------------------------------------------------------------------------- Fernet tokens

TEST_CASE("the specification's Fernet tokens open") {
    auto t = tokens();
    CHECK(*t.open_endpoint(kV1, Form::v1, kMadeAt) == kPlain);
    CHECK(*t.open_endpoint(kV1, Form::any, kMadeAt) == kPlain);
    const EndpointToken bound{kUaid, kChannel, whole_hash()};
    CHECK(*t.open_endpoint(kV2, Form::v2, kMadeAt) == bound);
    CHECK(*t.open_endpoint(kV2, Form::any, kMadeAt) == bound);
    CHECK(*t.open_endpoint(std::string{kV2} + "=", Form::v2, kMadeAt) == bound);
    CHECK(*t.open_endpoint(kV1, Form::v1, kMadeAt) == kPlain);  // the contexts are used again
}

TEST_CASE("the path decides which form it takes") {
    auto t = tokens();
    CHECK(t.open_endpoint(kV2, Form::v1, kMadeAt).error().fault == Fault::invalid);
    CHECK(t.open_endpoint(kV1, Form::v2, kMadeAt).error().fault == Fault::invalid);
    CHECK(t.open_endpoint(kToken, Form::v1, kMadeAt).error() ==
          Error{Fault::invalid, "this path admits Fernet tokens only"});
    CHECK(t.open_endpoint(kBoundToken, Form::v2, kMadeAt).error().fault == Fault::invalid);
}

TEST_CASE("all crypto keys are tried, in whatever order they stand") {
    for (const auto& keys : {std::vector<std::string>{kOtherFernetKey, kFernetKey},
                             std::vector<std::string>{kFernetKey, kOtherFernetKey}}) {
        Tokens t{ring_of({kKey0}, keys)};
        CHECK(*t.open_endpoint(kV1, Form::v1, kMadeAt) == kPlain);
        CHECK(t.open_endpoint(kV2, Form::v2, kMadeAt));
    }
    const Error none{Fault::unauthorized, "none of the crypto keys has made it"};
    Tokens without{ring_of({kKey0})};
    CHECK(without.open_endpoint(kV1, Form::v1, kMadeAt).error() == none);
    Tokens wrong{ring_of({kKey0}, {kOtherFernetKey})};
    CHECK(wrong.open_endpoint(kV1, Form::v1, kMadeAt).error() == none);
}

TEST_CASE("a Fernet token has no maximum age, but may be at most 60 s ahead") {
    using namespace std::chrono_literals;
    auto t = tokens();
    CHECK(t.open_endpoint(kV1, Form::v1, kMadeAt + 24h * 3650));
    CHECK(t.open_endpoint(kV1, Form::v1, kMadeAt - 60s));
    CHECK(t.open_endpoint(kV1, Form::v1, kMadeAt - 61s).error() ==
          Error{Fault::unauthorized, "its time lies more than 60 s ahead"});
    CHECK_FALSE(t.open_endpoint(kV1, Form::v1, Timestamp{}));
}

TEST_CASE("a Tokens may be moved, as into a thread's state") {
    auto first = tokens();
    const Tokens warmed = std::move(first);
    Tokens second = tokens();
    CHECK(second.seal_endpoint(kUaid, kChannel) == kToken);
}

// ------------------------------------------------------------------------------ a ring that grows

TEST_CASE("a key that the ring gains is read at once and encrypts when it is in force") {
    const auto before = KeyRing::generate();
    const auto after = *before.rotated();
    const auto ring = std::make_shared<KeyRing>(before);
    Tokens ours{ring};
    Tokens theirs{std::make_shared<KeyRing>(after)};
    const auto old = ours.seal_endpoint(kUaid, kChannel);
    const auto made_with_new = theirs.seal_endpoint(kUaid, kChannel);
    const auto message = theirs.seal_message({kUaid, {}});
    CHECK_FALSE(ours.open_endpoint(made_with_new, Form::any, kMadeAt));

    ring->grow(after, before);
    CHECK(*ours.open_endpoint(made_with_new, Form::any, kMadeAt) == kPlain);
    CHECK(ours.open_message(message));
    CHECK(ours.seal_endpoint(kUaid, kChannel) == old);

    ring->grow(after, after);
    CHECK(ours.seal_endpoint(kUaid, kChannel) == made_with_new);
    CHECK(*ours.open_endpoint(old, Form::any, kMadeAt) == kPlain);
}

TEST_CASE("Fernet keys and receipts of a ring that grows") {
    const auto ring = std::make_shared<KeyRing>(*ring_of({kKey0}));
    Tokens ours{ring};
    CHECK_FALSE(ours.open_endpoint(kV1, Form::v1, kMadeAt));
    const auto grown = *ring->imported({kFernetKey}, {"new"}).rotated();
    ring->grow(grown, *ring);
    CHECK(*ours.open_endpoint(kV1, Form::v1, kMadeAt) == kPlain);
    Tokens theirs{std::make_shared<KeyRing>(grown)};
    CHECK(ours.open_receipt(theirs.seal_receipt({.id = {}, .sender = std::nullopt})));
    CHECK(theirs.open_receipt(ours.seal_receipt({.id = {}, .sender = std::nullopt})));
}
