#pragma once

#include "core/ids.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace beckon::ingest {

/// `lower-hex(HMAC-SHA256(auth key, uaid as 32 hex digits))`
/// (docs/protocol/http-api.md#registration-secret).
std::string registration_secret(std::string_view auth_key, const core::Uaid& uaid);
/// Tries every key of the ring, in constant time each.
bool is_registration_secret(const std::vector<std::string>& auth_keys, const core::Uaid& uaid,
                            std::string_view secret);

}  // namespace beckon::ingest
