#pragma once

#include <string>
#include <string_view>

/// Proofs that a peer knows a secret. Pure functions, any thread.
namespace beckon::core {

/// HMAC-SHA-256 (RFC 2104): 32 bytes.
std::string hmac_sha256(std::string_view key, std::string_view text);

/// Compares a proof with the right one, in a time that depends on its length alone.
bool same_proof(std::string_view right, std::string_view given);

}  // namespace beckon::core
