#include "edge/broadcast/broadcast_token.hpp"

#include "core/base64url.hpp"
#include "core/hmac.hpp"

#include <algorithm>

namespace beckon::edge {

namespace {

std::string token_of(const core::KeyRing::Key& key) {
    const auto secret = core::KeyRing::derive(key, "beckon/broadcasts/1");
    return core::base64url({reinterpret_cast<const char*>(secret.data()), secret.size()});
}

}  // namespace

/// From the oldest key, which a process that started before the ring was rotated has too.
std::string broadcast_token(const core::KeyRing& keys) { return token_of(keys.keys().front()); }

bool is_broadcast_token(const core::KeyRing& keys, std::string_view token) {
    return std::any_of(keys.keys().begin(), keys.keys().end(),
                       [&](const auto& key) { return core::same_proof(token_of(key), token); });
}

}  // namespace beckon::edge
