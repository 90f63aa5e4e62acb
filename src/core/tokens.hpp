#pragma once

#include "core/ids.hpp"
#include "core/key_ring.hpp"
#include "core/result.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace beckon::core {

using ReceiptId = Id16<struct ReceiptTag>;  ///< a receipt subscription; UUIDv4
/// An application server: the first half of the SHA-256 of its VAPID key.
using SenderId = Id16<struct SenderTag>;

/// A receipt subscription.
struct ReceiptRef {
    ReceiptId id{};
    std::optional<SenderId> sender{};  ///< its creator; absent: the creator was not authenticated
    bool operator==(const ReceiptRef&) const = default;
};

using Sha256 = std::array<std::uint8_t, 32>;
/// The digest of the parts, one after the other. Any thread.
Sha256 sha256(std::string_view first, std::string_view second = {});
/// 64 hex digits.
std::string hex(const Sha256& hash);

/// The content of an endpoint URL's token.
struct EndpointToken {
    Uaid uaid;
    ChannelId channel;
    /// SHA-256 of the VAPID key that the subscription is bound to: 16 bytes of it in a compact
    /// token, all 32 in a Fernet v2 one; empty if it is bound to none.
    std::string vapid_sha256;
    bool operator==(const EndpointToken&) const = default;

    /// True if unbound or bound to this key.
    bool admits(const Sha256& key_sha256) const;
};

struct MessageRef {
    Uaid uaid;
    MessageKey key;
    bool operator==(const MessageRef&) const = default;
};

/// Seals and opens endpoint tokens, message ids and the URLs of receipt subscriptions
/// (docs/formats/tokens.md).
/// Keeps OpenSSL contexts for reuse: one instance per thread.
class Tokens {
public:
    /// It also uses keys that the ring gains later (KeyRing::grow()).
    explicit Tokens(std::shared_ptr<const KeyRing> keys);
    ~Tokens();
    Tokens(Tokens&&) noexcept;

    /// 66 characters, or 87 when bound to a VAPID key (its SHA-256).
    std::string seal_endpoint(const Uaid& uaid, const ChannelId& channel,
                              const std::optional<Sha256>& vapid_sha256 = std::nullopt);

    /// The token forms that a path admits: `/wpush/<t>` both, `/wpush/v1/` and `/wpush/v2/` only
    /// Fernet of that length.
    enum class Form { any, v1, v2 };
    /// Errors: invalid (not base64url, wrong length for its form), unauthorized (no key of the ring
    /// opens it). `now` bounds a Fernet token's stamp (at most 60 s ahead). A Fernet token is tried
    /// with each of the ring's crypto keys in order; it has no maximum age.
    Result<EndpointToken> open_endpoint(std::string_view token, Form form, Timestamp now);

    /// 66 characters; the message's Location tail, `ce_id` and `version`.
    std::string seal_message(const MessageRef& message);
    /// Errors as open_endpoint.
    Result<MessageRef> open_message(std::string_view message_id);

    /// 66 characters. A sender that has the URL may poll and name it, and URLs cannot be guessed.
    std::string seal_receipt(const ReceiptRef& receipt);
    /// Errors as open_endpoint.
    Result<ReceiptRef> open_receipt(std::string_view token);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::core
