#pragma once

#include "core/ids.hpp"
#include "core/key_ring.hpp"
#include "core/result.hpp"

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

/// Seals and opens the URLs of receipt subscriptions, as Tokens does with endpoints
/// (docs/formats/tokens.md#compact-tokens): a sender that has the URL may poll and name it, and
/// URLs cannot be guessed. One instance per thread.
class ReceiptTokens {
public:
    /// It also uses keys that the ring gains later (KeyRing::grow()).
    explicit ReceiptTokens(std::shared_ptr<const KeyRing> keys);
    ~ReceiptTokens();
    ReceiptTokens(ReceiptTokens&&) noexcept;

    /// 66 characters.
    std::string seal(const ReceiptRef& receipt);
    /// Errors: invalid (not base64url, wrong length, another kind of token), unauthorized (no key
    /// of the ring opens it).
    Result<ReceiptRef> open(std::string_view token);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::core
