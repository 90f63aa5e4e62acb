#pragma once

#include "core/key_ring.hpp"
#include "core/result.hpp"

#include <string>
#include <string_view>

namespace beckon::retry {

/// The author of requests, as its token names it.
struct Caller {
    std::string owner;  ///< of webhooks: it sees and changes its own only
    /// Its events reach the webhooks of all owners; otherwise only its own.
    bool publishes_to_all = false;
    /// An operator, as the console asks for one: lists the webhooks and attempts of all owners,
    /// sees and settles their dead letters, and may do nothing else.
    bool operates = false;
    bool operator==(const Caller&) const = default;
};

/// The caller of a request by an operator.
inline Caller operator_caller() { return {.owner = "operator", .operates = true}; }

/// The token of a caller: its owner's name, its right to publish, and a MAC under the newest key of
/// the ring, so that nothing needs to be stored (docs/webhooks.md#tokens). Errors: invalid (no name
/// of an owner).
core::Result<std::string> make_token(const core::KeyRing& keys, const Caller& caller);
/// Makes a token under one key. A caller of a process that may have started before the ring was
/// rotated takes the oldest key.
core::Result<std::string> make_token(const core::KeyRing::Key& key, const Caller& caller);

/// Errors: not_found (it names a key that is not in the ring), unauthorized (no token, or no key of
/// the ring made it).
core::Result<Caller> check_token(const core::KeyRing& keys, std::string_view token);
/// Of the header Authorization of a request. Errors: as above.
core::Result<Caller> caller_of(const core::KeyRing& keys, std::string_view authorization);

}  // namespace beckon::retry
