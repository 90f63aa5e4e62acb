#pragma once

#include "client/p256_key.hpp"
#include "core/result.hpp"

#include <chrono>
#include <filesystem>
#include <string>

/// Voluntary application server identification: ES256 tokens in the form of RFC 8292 and of the
/// older "WebPush" scheme.
namespace beckon::client {

/// The claims of a token.
struct VapidClaims {
    std::string audience;          ///< the endpoint's origin
    std::chrono::seconds expires;  ///< Unix time; a push service allows at most 24 h ahead
    std::string subject;           ///< `mailto:…` or `https:…`; empty: not claimed
};

enum class VapidScheme {
    vapid,    ///< `Authorization: vapid t=…, k=…` (RFC 8292)
    webpush,  ///< `Authorization: WebPush <jwt>` and `Crypto-Key: p256ecdsa=…`
};

struct VapidHeaders {
    std::string authorization;
    std::string crypto_key;  ///< an item for `Crypto-Key`; empty with VapidScheme::vapid
};

/// Header, claims and signature, joined by dots (RFC 7515 compact form).
std::string sign_jwt(const P256Key& key, const VapidClaims& claims);
VapidHeaders vapid_headers(const P256Key& key, const VapidClaims& claims, VapidScheme scheme);

enum class IfMissing { fail, create };

/// Reads a key pair from `file`: JSON `{"publicKey","privateKey"}`, both base64url (as npm
/// `web-push generate-vapid-keys --json` prints it), or a PEM private key (as pywebpush uses it). A
/// file that does not exist is made, mode 0600, if `if_missing` says so.
Result<P256Key> load_vapid_key(const std::filesystem::path& file, IfMissing if_missing);

}  // namespace beckon::client
