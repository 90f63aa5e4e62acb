#pragma once

#include "core/key_ring.hpp"

#include <string>
#include <string_view>

namespace beckon::edge {

/// Its bearer may change broadcasts at the ops port of a process with this key ring. Made from the
/// oldest key, so that nothing needs to be stored; one of a newer key of the ring is as good.
std::string broadcast_token(const core::KeyRing& keys);
bool is_broadcast_token(const core::KeyRing& keys, std::string_view token);

}  // namespace beckon::edge
