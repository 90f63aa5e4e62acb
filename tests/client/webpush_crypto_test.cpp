#include "client/webpush_crypto.hpp"

#include "core/base64url.hpp"

#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::client;

namespace {

std::string bytes(std::string_view text) { return core::parse_base64url(text).value(); }

// The keys, salt and text of RFC 8291, appendix A.
const char* const kText = "When I grow up, I want to be a watermelon";

ReceiverKeys rfc_receiver() {
    return {P256Key::from_private(bytes("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")).value(),
            bytes("BTBZMqHH6r4Tts7J_aSIgg")};
}

EncryptOptions rfc_options(Encoding encoding) {
    return {.encoding = encoding,
            .sender_key =
                P256Key::from_private(bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")).value(),
            .salt = bytes("DGv6ra1nlYgDCS1FRnbzlw")};
}

const char* const kRfcBody =
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6T"
    "lzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4"
    "a-fN";

// The same keys, salt and text through npm http_ece 1.2.1 (version "aesgcm").
const char* const kAesgcmBody =
    "4qwOLFm_mNy0vf1A8f3Bm6B5UD15y3aV_xZy14pixUhcPTIoZKHzq5i3dZ6PzqSMxBI_-VDUZ4jW04M";
const char* const kAesgcmPaddedBody = "4qtZRDzRuJWUqu5L4rjQiKQiZEDg-UTMb6RM_y6Blw";
const char* const kSalt = "salt=DGv6ra1nlYgDCS1FRnbzlw";
const char* const kSenderKey =
    "dh=BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8";

}  // namespace

TEST_CASE("a private scalar gives the public point of RFC 8291") {
    CHECK(
        core::base64url(rfc_receiver().key.public_point()) ==
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4");
}

TEST_CASE("aes128gcm makes the body of RFC 8291 appendix A") {
    const auto message =
        encrypt(rfc_receiver().subscription(), kText, rfc_options(Encoding::aes128gcm)).value();
    CHECK(core::base64url(message.body) == kRfcBody);
    CHECK(message.encryption.empty());
    CHECK(message.crypto_key.empty());
}

TEST_CASE("aes128gcm reads the body of RFC 8291 appendix A") {
    CHECK(decrypt(rfc_receiver(), Encoding::aes128gcm, bytes(kRfcBody)).value() == kText);
}

TEST_CASE("aesgcm makes what another implementation makes") {
    auto options = rfc_options(Encoding::aesgcm);
    const auto message = encrypt(rfc_receiver().subscription(), kText, options).value();
    CHECK(core::base64url(message.body) == kAesgcmBody);
    CHECK(message.encryption == kSalt);
    CHECK(message.crypto_key == kSenderKey);

    options.padding_bytes = 7;
    const auto padded = encrypt(rfc_receiver().subscription(), "padded", options).value();
    CHECK(core::base64url(padded.body) == kAesgcmPaddedBody);
}

TEST_CASE("aesgcm reads what another implementation makes, other header items included") {
    CHECK(decrypt(rfc_receiver(), Encoding::aesgcm, bytes(kAesgcmBody),
                  "keyid=\"p256dh\"; salt=\"DGv6ra1nlYgDCS1FRnbzlw==\"",
                  "p256ecdsa=BAAA;" + std::string{kSenderKey})
              .value() == kText);
    CHECK(decrypt(rfc_receiver(), Encoding::aesgcm, bytes(kAesgcmPaddedBody), kSalt, kSenderKey)
              .value() == "padded");
}

TEST_CASE("a message that is encrypted for a subscription is read with its keys") {
    const auto encoding = GENERATE(Encoding::aes128gcm, Encoding::aesgcm);
    const auto size =
        GENERATE_COPY(values<std::size_t>({0, 1, 300, plaintext_bytes_max(encoding)}));
    const std::size_t padding = size == 300 ? 100 : 0;
    CAPTURE(to_string(encoding), size, padding);
    const auto keys = ReceiverKeys::generate();
    const std::string text(size, '\0');  // zeros: padding must not be mistaken for text
    const auto message =
        encrypt(keys.subscription(), text, {.encoding = encoding, .padding_bytes = padding})
            .value();
    CHECK(message.body.size() <= kBodyBytesMax);
    CHECK(decrypt(keys, encoding, message.body, message.encryption, message.crypto_key).value() ==
          text);
}

TEST_CASE("one byte more than a push message holds is refused") {
    const auto encoding = GENERATE(Encoding::aes128gcm, Encoding::aesgcm);
    const auto to = ReceiverKeys::generate().subscription();
    const std::string text(plaintext_bytes_max(encoding), 'x');
    CHECK(encrypt(to, text + 'x', {.encoding = encoding}).error().fault == core::Fault::too_large);
    CHECK(encrypt(to, text, {.encoding = encoding, .padding_bytes = 1}).error().fault ==
          core::Fault::too_large);
    CHECK(encrypt(to, "", {.encoding = encoding, .padding_bytes = SIZE_MAX}).error().fault ==
          core::Fault::too_large);
}

TEST_CASE("two messages with one text differ") {
    const auto to = ReceiverKeys::generate().subscription();
    CHECK(encrypt(to, kText).value().body != encrypt(to, kText).value().body);
}

TEST_CASE("a message for other keys, or a changed one, does not decrypt") {
    const std::string body = bytes(kRfcBody);
    CHECK(decrypt(ReceiverKeys::generate(), Encoding::aes128gcm, body).error().fault ==
          core::Fault::unauthorized);
    std::string changed = body;
    changed.back() = static_cast<char>(changed.back() ^ 1);
    CHECK(decrypt(rfc_receiver(), Encoding::aes128gcm, changed).error().fault ==
          core::Fault::unauthorized);
}

TEST_CASE("a body of a wrong form is invalid, at any length") {
    const std::string body = bytes(kRfcBody);
    for (std::size_t size = 0; size < body.size(); ++size) {
        CAPTURE(size);
        CHECK_FALSE(decrypt(rfc_receiver(), Encoding::aes128gcm, body.substr(0, size)));
    }
    std::string two_records = body;
    two_records[18] = 0;  // the record size becomes 18 bytes
    two_records[19] = 18;
    CHECK(decrypt(rfc_receiver(), Encoding::aes128gcm, two_records).error().fault ==
          core::Fault::invalid);
    CHECK_FALSE(decrypt(rfc_receiver(), Encoding::aesgcm, bytes(kAesgcmBody), "", kSenderKey));
    CHECK_FALSE(decrypt(rfc_receiver(), Encoding::aesgcm, bytes(kAesgcmBody), kSalt, ""));
    CHECK_FALSE(decrypt(rfc_receiver(), Encoding::aesgcm, "", kSalt, kSenderKey));
}

TEST_CASE("subscription keys of a wrong form are refused") {
    auto keys = ReceiverKeys::generate().subscription();
    keys.auth.pop_back();
    CHECK(encrypt(keys, kText).error().fault == core::Fault::invalid);
    keys = ReceiverKeys::generate().subscription();
    keys.p256dh[40] = static_cast<char>(keys.p256dh[40] ^ 1);  // no longer on the curve
    CHECK(encrypt(keys, kText).error().fault == core::Fault::invalid);
}
