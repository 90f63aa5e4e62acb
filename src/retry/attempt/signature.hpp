#pragma once

#include "core/clock.hpp"
#include "core/result.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

/// How a receiver knows that a request is ours. Pure functions, any thread.
namespace beckon::retry {

inline constexpr std::size_t kSecretBytesMin = 24;
inline constexpr std::size_t kSecretBytesMax = 64;

/// The bytes of `whsec_<base64>` (Standard Webhooks 1.0): with the padding or without, and only in
/// the one text that secret_text() makes of them, since receivers decode it themselves. Errors:
/// invalid (the fault, without quoting the key).
core::Result<std::string> parse_secret(std::string_view text);
/// A new one of 32 random bytes, and its text.
std::string random_secret();
std::string secret_text(std::string_view secret);

/// The value of `webhook-signature`: one `v1,<base64>` for each secret, so that receivers with the
/// old and with the new one both find theirs while a secret is exchanged.
std::string webhook_signature(std::span<const std::string> secrets, std::string_view id,
                              std::chrono::seconds timestamp, std::string_view body);

/// A receiver's check: whether `signatures` has one that this secret makes. The receiver decides
/// whether the timestamp is recent.
bool is_signed_by(std::string_view secret, std::string_view signatures, std::string_view id,
                  std::chrono::seconds timestamp, std::string_view body);

/// A key that is shared with the receiver, for HTTP Signatures (draft-cavage-http-signatures-12).
struct SharedKey {
    std::string id;
    std::string secret;
    bool operator==(const SharedKey&) const = default;
};

/// The headers `Date`, `Digest` and `Authorization: Signature …` over request target, host, date
/// and digest, as the older systems expect them, and over `headers` behind those.
struct SignedRequest {
    std::string_view method;  ///< "POST"
    std::string_view target;  ///< path and query
    std::string_view host;    ///< as in the Host header
    std::string_view body;
    std::span<const std::string> headers{};  ///< "Name: value"; each name once
};
std::vector<std::string> http_signature(const SharedKey& key, const SignedRequest& request,
                                        core::Timestamp now);

}  // namespace beckon::retry
