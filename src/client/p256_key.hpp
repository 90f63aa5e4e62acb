#pragma once

#include "core/result.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

struct evp_pkey_st;  // of OpenSSL

namespace beckon::client {

using core::Result;

inline constexpr std::size_t kPointBytes = 65;   ///< uncompressed P-256 point, leading 0x04
inline constexpr std::size_t kScalarBytes = 32;  ///< private key
inline constexpr std::size_t kEs256Bytes = 64;   ///< r ‖ s

/// A P-256 key pair: a subscription's, a message's ephemeral one, or an application server's.
/// Immutable; copies share the key. Const calls are safe from any thread.
class P256Key {
public:
    static P256Key generate();
    /// From the 32-byte private scalar; `invalid` if it is not in the group's range.
    static Result<P256Key> from_private(std::string_view scalar);
    /// From a PEM private key (SEC1 or PKCS#8).
    static Result<P256Key> from_pem(std::string_view pem);

    /// 65 bytes, uncompressed.
    const std::string& public_point() const { return public_point_; }
    /// 32 bytes. Secret.
    const std::string& private_scalar() const { return private_scalar_; }

    /// PKCS#8, as pywebpush and openssl read it. Secret.
    std::string private_pem() const;

    /// ECDH: the shared 32 bytes with the owner of `peer_point`; `invalid` if that is not a point
    /// of the curve.
    Result<std::string> agree(std::string_view peer_point) const;
    /// ECDSA over SHA-256 of `text`, 64 bytes r ‖ s (RFC 7518 §3.4).
    std::string sign(std::string_view text) const;

private:
    P256Key(std::shared_ptr<evp_pkey_st> key, std::string public_point, std::string private_scalar)
        : key_(std::move(key)),
          public_point_(std::move(public_point)),
          private_scalar_(std::move(private_scalar)) {}

    std::shared_ptr<evp_pkey_st> key_;
    std::string public_point_;
    std::string private_scalar_;
};

/// The uncompressed point of a PEM key, private or public, with its point in either form. Error:
/// invalid, "no PEM key …".
Result<std::string> public_point_in(std::string_view pem);
/// PEM of the public key with this point, in either form; nullopt if it is none of the curve.
std::optional<std::string> public_pem(std::string_view point);

}  // namespace beckon::client
