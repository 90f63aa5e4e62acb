#pragma once

#include "core/handle.hpp"
#include "core/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/evp.h>

namespace beckon::retry {

/// A private key that signs JSON Web Tokens (RFC 7519), so that a bridge's service knows us. The
/// key itself is never shown. Copies share it. Any thread.
class SigningKey {
public:
    enum class Kind : std::uint8_t {
        rs256,  ///< RSA of at least 2048 bits; RFC 7518 §3.3
        es256,  ///< ECDSA on P-256; RFC 7518 §3.4
    };

    /// From the PEM text of an unencrypted private key. Errors: invalid (the fault, without quoting
    /// the key).
    static core::Result<SigningKey> from_pem(std::string_view pem, Kind kind);

    /// `<header>.<claims>.<signature>`, each base64url; both texts are JSON objects, and the header
    /// names the algorithm of this kind.
    std::string jwt(std::string_view header, std::string_view claims) const;

private:
    using Key = core::Handle<EVP_PKEY, EVP_PKEY_free>;
    SigningKey(Key key, Kind kind) : key_(std::move(key)), kind_(kind) {}

    std::shared_ptr<EVP_PKEY> key_;
    Kind kind_;
};

}  // namespace beckon::retry
