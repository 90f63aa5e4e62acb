#include "client/webpush_crypto.hpp"

#include "core/ascii.hpp"
#include "core/assert.hpp"
#include "core/base64url.hpp"
#include "core/bytes.hpp"
#include "core/handle.hpp"

#include <array>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

namespace beckon::client {

namespace {

/// Our own input to OpenSSL is right by construction; if not, nothing may go on.
void must(bool ok) { BECKON_ASSERT(ok, "OpenSSL refused valid input"); }

using core::Fault;

constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kContentKeyBytes = 16;
constexpr std::size_t kNonceBytes = 12;
constexpr std::uint32_t kRecordSize = 4096;
/// salt 16 ‖ record size 4 ‖ key id length 1 ‖ key id (the sender's point) 65 (RFC 8188 §2.1)
constexpr std::size_t kHeaderBytes = kSaltBytes + 4 + 1 + kPointBytes;
constexpr std::size_t kAesgcmPadLengthBytes = 2;
constexpr char kLastRecord = 0x02;  // RFC 8188 §2: delimiter of the last record

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string random_bytes(std::size_t size) {
    std::string out(size, '\0');
    must(RAND_bytes(bytes_of(out), static_cast<int>(size)) == 1);
    return out;
}

struct HkdfInput {
    std::string_view salt;
    std::string_view secret;
    std::string_view info;
};

std::string hkdf(const HkdfInput& input, std::size_t size) {
    const core::Handle<EVP_KDF, EVP_KDF_free> kdf{EVP_KDF_fetch(nullptr, "HKDF", nullptr)};
    const core::Handle<EVP_KDF_CTX, EVP_KDF_CTX_free> context{EVP_KDF_CTX_new(kdf.get())};
    const auto octets = [](const char* name, std::string_view value) {
        return OSSL_PARAM_construct_octet_string(name, const_cast<char*>(value.data()),
                                                 value.size());
    };
    char digest[] = "SHA256";
    const std::array params{OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
                            octets(OSSL_KDF_PARAM_SALT, input.salt),
                            octets(OSSL_KDF_PARAM_KEY, input.secret),
                            octets(OSSL_KDF_PARAM_INFO, input.info), OSSL_PARAM_construct_end()};
    std::string out(size, '\0');
    must(EVP_KDF_derive(context.get(), bytes_of(out), out.size(), params.data()) == 1);
    return out;
}

struct ContentKeys {
    std::string key;
    std::string nonce;
};

struct Exchange {
    std::string_view shared_secret;
    std::string_view auth;
    std::string_view salt;
    std::string_view receiver_point;
    std::string_view sender_point;
};

std::string label(std::string_view text) {
    std::string out{text};
    out.push_back('\0');
    return out;
}

/// RFC 8291 §3.4
ContentKeys derive_aes128gcm(const Exchange& exchange) {
    std::string key_info = label("WebPush: info");
    key_info.append(exchange.receiver_point).append(exchange.sender_point);
    const std::string input_key =
        hkdf({.salt = exchange.auth, .secret = exchange.shared_secret, .info = key_info}, 32);
    const auto expand = [&](std::string_view name, std::size_t size) {
        return hkdf({.salt = exchange.salt, .secret = input_key, .info = label(name)}, size);
    };
    return {expand("Content-Encoding: aes128gcm", kContentKeyBytes),
            expand("Content-Encoding: nonce", kNonceBytes)};
}

/// draft-ietf-webpush-encryption-04 §3, draft-ietf-httpbis-encryption-encoding-03 §3
ContentKeys derive_aesgcm(const Exchange& exchange) {
    const std::string input_key = hkdf({.salt = exchange.auth,
                                        .secret = exchange.shared_secret,
                                        .info = label("Content-Encoding: auth")},
                                       32);
    std::string context = label("P-256");
    for (const auto point : {exchange.receiver_point, exchange.sender_point}) {
        core::append_fixed(context, static_cast<std::uint16_t>(point.size()));
        context.append(point);
    }
    const auto expand = [&](std::string_view name, std::size_t size) {
        const std::string info = label(name) + context;
        return hkdf({.salt = exchange.salt, .secret = input_key, .info = info}, size);
    };
    return {expand("Content-Encoding: aesgcm", kContentKeyBytes),
            expand("Content-Encoding: nonce", kNonceBytes)};
}

ContentKeys derive(Encoding encoding, const Exchange& exchange) {
    return encoding == Encoding::aes128gcm ? derive_aes128gcm(exchange) : derive_aesgcm(exchange);
}

using CipherContext = core::Handle<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free>;

/// One record: the nonce is the first one, whose sequence number is 0.
std::string seal(const ContentKeys& keys, std::string_view text) {
    const CipherContext context{EVP_CIPHER_CTX_new()};
    std::string out(text.size() + kTagBytes, '\0');
    int length = 0;
    int tail = 0;
    must(EVP_EncryptInit_ex(context.get(), EVP_aes_128_gcm(), nullptr, bytes_of(keys.key),
                            bytes_of(keys.nonce)) == 1);
    must(EVP_EncryptUpdate(context.get(), bytes_of(out), &length, bytes_of(text),
                           static_cast<int>(text.size())) == 1);
    must(EVP_EncryptFinal_ex(context.get(), bytes_of(out) + length, &tail) == 1);
    must(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes,
                             out.data() + text.size()) == 1);
    return out;
}

std::optional<std::string> open(const ContentKeys& keys, std::string_view sealed) {
    if (sealed.size() < kTagBytes) return std::nullopt;
    const std::string_view text = sealed.substr(0, sealed.size() - kTagBytes);
    std::string tag{sealed.substr(text.size())};
    const CipherContext context{EVP_CIPHER_CTX_new()};
    std::string out(text.size() + 1, '\0');  // never empty: OpenSSL takes a null for "no output"
    int length = 0;
    int tail = 0;
    must(EVP_DecryptInit_ex(context.get(), EVP_aes_128_gcm(), nullptr, bytes_of(keys.key),
                            bytes_of(keys.nonce)) == 1);
    must(EVP_DecryptUpdate(context.get(), bytes_of(out), &length, bytes_of(text),
                           static_cast<int>(text.size())) == 1);
    EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data());
    if (EVP_DecryptFinal_ex(context.get(), bytes_of(out) + length, &tail) != 1) return std::nullopt;
    out.resize(text.size());
    return out;
}

constexpr std::string_view kAroundItems = " \t\"";

/// The decoded value of the first item `name=…` in an `Encryption` or `Crypto-Key` value.
std::optional<std::string> header_item(std::string_view header, std::string_view name) {
    while (!header.empty()) {
        const auto end = header.find_first_of(",;");
        const std::string_view item = header.substr(0, end);
        header.remove_prefix(end == std::string_view::npos ? header.size() : end + 1);
        const auto equals = item.find('=');
        if (equals == std::string_view::npos ||
            core::trimmed(item.substr(0, equals), kAroundItems) != name)
            continue;
        return core::parse_base64url(core::trimmed(item.substr(equals + 1), kAroundItems));
    }
    return std::nullopt;
}

/// The last record's text: everything before the delimiter, which padding zeros follow.
Result<std::string> unpad_aes128gcm(std::string text) {
    const auto delimiter = text.find_last_not_of('\0');
    if (delimiter == std::string::npos || text[delimiter] != kLastRecord) {
        return core::fail(Fault::invalid, "the padding delimiter of the last record is missing");
    }
    text.resize(delimiter);
    return text;
}

Result<std::string> unpad_aesgcm(std::string text) {
    if (text.size() < kAesgcmPadLengthBytes) {
        return core::fail(Fault::invalid, "the record is shorter than its padding length");
    }
    const auto padding = core::get_fixed<std::uint16_t>(text.data());
    if (text.size() < kAesgcmPadLengthBytes + padding) {
        return core::fail(Fault::invalid, "the padding is longer than the record");
    }
    text.erase(0, kAesgcmPadLengthBytes + padding);
    return text;
}

struct Sealed {
    std::string salt;
    std::string sender_point;
    std::string_view record;
};

Result<Sealed> parse_aes128gcm(std::string_view body) {
    if (body.size() < kSaltBytes + 5) {
        return core::fail(Fault::invalid, "the body is shorter than an aes128gcm header");
    }
    const auto record_size = core::get_fixed<std::uint32_t>(body.data() + kSaltBytes);
    const std::size_t key_id_size = static_cast<unsigned char>(body[kSaltBytes + 4]);
    if (key_id_size != kPointBytes || body.size() < kHeaderBytes) {
        return core::fail(Fault::invalid, "the key id of the body is not a P-256 point");
    }
    const std::string_view record = body.substr(kHeaderBytes);
    if (record.size() > record_size) {
        return core::fail(Fault::invalid, "more than one record; Web Push allows one");
    }
    return Sealed{std::string{body.substr(0, kSaltBytes)},
                  std::string{body.substr(kSaltBytes + 5, kPointBytes)}, record};
}

Result<Sealed> parse_aesgcm(std::string_view body, std::string_view encryption,
                            std::string_view crypto_key) {
    auto salt = header_item(encryption, "salt");
    auto point = header_item(crypto_key, "dh");
    if (!salt || salt->size() != kSaltBytes) {
        return core::fail(Fault::invalid, "Encryption has no salt of 16 bytes");
    }
    if (!point) return core::fail(Fault::invalid, "Crypto-Key has no dh");
    return Sealed{std::move(*salt), std::move(*point), body};
}

}  // namespace

ReceiverKeys ReceiverKeys::generate() { return {P256Key::generate(), random_bytes(kAuthBytes)}; }

std::size_t plaintext_bytes_max(Encoding encoding) {
    // A full aesgcm record means that another follows, so its text stops one byte short.
    return encoding == Encoding::aes128gcm ? kBodyBytesMax - kHeaderBytes - kTagBytes - 1
                                           : kBodyBytesMax - kTagBytes - kAesgcmPadLengthBytes - 1;
}

Result<EncryptedMessage> encrypt(const SubscriptionKeys& to, std::string_view plaintext,
                                 const EncryptOptions& options) {
    if (to.auth.size() != kAuthBytes) {
        return core::fail(Fault::invalid, "auth has " + std::to_string(to.auth.size()) +
                                              " bytes, a subscription's has 16");
    }
    const std::size_t limit = plaintext_bytes_max(options.encoding);
    if (plaintext.size() > limit || options.padding_bytes > limit - plaintext.size()) {
        return core::fail(Fault::too_large,
                          "text and padding have " +
                              std::to_string(plaintext.size() + options.padding_bytes) +
                              " bytes, one push message holds " + std::to_string(limit));
    }
    const P256Key sender = options.sender_key.value_or(P256Key::generate());
    const std::string salt = options.salt.value_or(random_bytes(kSaltBytes));
    const auto secret = sender.agree(to.p256dh);
    if (!secret) return core::fail(Fault::invalid, "p256dh: " + secret.error().message);
    const ContentKeys keys = derive(options.encoding, {.shared_secret = *secret,
                                                       .auth = to.auth,
                                                       .salt = salt,
                                                       .receiver_point = to.p256dh,
                                                       .sender_point = sender.public_point()});
    std::string text;
    if (options.encoding == Encoding::aesgcm) {
        core::append_fixed(text, static_cast<std::uint16_t>(options.padding_bytes));
        text.append(options.padding_bytes, '\0').append(plaintext);
        return EncryptedMessage{options.encoding, seal(keys, text), "salt=" + core::base64url(salt),
                                "dh=" + core::base64url(sender.public_point())};
    }
    text.append(plaintext).push_back(kLastRecord);
    text.append(options.padding_bytes, '\0');
    std::string body = salt;
    core::append_fixed(body, kRecordSize);
    body.push_back(static_cast<char>(kPointBytes));
    body.append(sender.public_point()).append(seal(keys, text));
    return EncryptedMessage{options.encoding, std::move(body), "", ""};
}

Result<std::string> decrypt(const ReceiverKeys& keys, Encoding encoding, std::string_view body,
                            std::string_view encryption, std::string_view crypto_key) {
    const auto sealed = encoding == Encoding::aes128gcm
                            ? parse_aes128gcm(body)
                            : parse_aesgcm(body, encryption, crypto_key);
    if (!sealed) return core::fail(sealed.error());
    const auto secret = keys.key.agree(sealed->sender_point);
    if (!secret) return core::fail(Fault::invalid, "the sender's key: " + secret.error().message);
    auto text = open(derive(encoding, {.shared_secret = *secret,
                                       .auth = keys.auth,
                                       .salt = sealed->salt,
                                       .receiver_point = keys.key.public_point(),
                                       .sender_point = sealed->sender_point}),
                     sealed->record);
    if (!text) {
        return core::fail(Fault::unauthorized, "not encrypted for this subscription's keys");
    }
    return encoding == Encoding::aes128gcm ? unpad_aes128gcm(std::move(*text))
                                           : unpad_aesgcm(std::move(*text));
}

}  // namespace beckon::client
