#pragma once

#include "client/p256_key.hpp"
#include "core/enum_names.hpp"
#include "core/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Message encryption for Web Push, both ends: `aes128gcm` (RFC 8188, RFC 8291) and the older
/// `aesgcm` (draft-ietf-webpush-encryption-04). The push service never does any of this; the
/// tools that play a sender or a receiver do. Pure functions, callable from any thread.
namespace beckon::client {

inline constexpr std::size_t kAuthBytes = 16;
inline constexpr std::size_t kSaltBytes = 16;
/// A push service must take bodies up to here (RFC 8030 §7.2), so no more is ever made.
inline constexpr std::size_t kBodyBytesMax = 4096;

/// The keys that a subscription shows to application servers (`keys` of a PushSubscription), raw
/// bytes.
struct SubscriptionKeys {
    std::string p256dh;  ///< 65 bytes
    std::string auth;    ///< 16 bytes

    bool operator==(const SubscriptionKeys&) const = default;
};

/// The secret keys that the user agent keeps for a subscription.
struct ReceiverKeys {
    P256Key key;
    std::string auth;  ///< 16 bytes

    static ReceiverKeys generate();
    SubscriptionKeys subscription() const { return {key.public_point(), auth}; }
};

enum class Encoding : std::uint8_t { aes128gcm, aesgcm };

/// The name in `Content-Encoding`.
inline std::string_view to_string(Encoding encoding) { return core::name_of(encoding); }
inline std::optional<Encoding> parse_encoding(std::string_view name) {
    return core::value_named<Encoding>(name);
}

struct EncryptOptions {
    Encoding encoding = Encoding::aes128gcm;
    std::size_t padding_bytes = 0;  ///< hides the length of the text; counts toward the body
    /// Fixed values for test vectors only: one pair must never serve two messages.
    std::optional<P256Key> sender_key = std::nullopt;
    std::optional<std::string> salt = std::nullopt;
};

/// A body and the headers that must travel with it.
struct EncryptedMessage {
    Encoding encoding;
    std::string body;
    std::string encryption;  ///< `salt=…`, aesgcm only; else empty
    std::string crypto_key;  ///< `dh=…`, aesgcm only; else empty
};

/// Greatest text that fits one body of kBodyBytesMax without padding: 3993 (aes128gcm) or 4077
/// (aesgcm) bytes.
std::size_t plaintext_bytes_max(Encoding encoding);

/// `invalid` for keys of a wrong form, `too_large` if text and padding do not fit one body.
Result<EncryptedMessage> encrypt(const SubscriptionKeys& to, std::string_view plaintext,
                                 const EncryptOptions& options = {});

/// Decrypts messages of `encrypt` and of other libraries. `invalid` if a header or the body has a
/// wrong form, `unauthorized` if it was not encrypted for these keys. `encryption` and `crypto_key`
/// are the header values (aesgcm only); other items in them are skipped.
Result<std::string> decrypt(const ReceiverKeys& keys, Encoding encoding, std::string_view body,
                            std::string_view encryption = {}, std::string_view crypto_key = {});

}  // namespace beckon::client
