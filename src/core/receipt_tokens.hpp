#pragma once

#include "core/key_ring.hpp"
#include "core/receipt.hpp"
#include "core/result.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace beckon::core {

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
