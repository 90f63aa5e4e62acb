#pragma once

#include "core/clock.hpp"
#include "core/token_buckets.hpp"
#include "net/peer_address.hpp"

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>

namespace beckon::net {

/// Token buckets by peer address: `limit` per `window`, refilled evenly. Thread-safe.
class RateLimiter {
public:
    struct Options {
        std::size_t limit = 0;  ///< 0: no limit
        core::Duration window = std::chrono::seconds{1};
        std::size_t addresses_max = 65'536;
    };
    explicit RateLimiter(const Options& options);

    bool enabled() const { return options_.limit > 0; }
    /// nullopt: there is space. Otherwise how long until there is (at least 1 s).
    std::optional<std::chrono::seconds> wait(const PeerAddress& peer, core::MonoTime now) const;
    /// Takes one.
    void spend(const PeerAddress& peer, core::MonoTime now);
    /// wait() and, if there is space, spend().
    std::optional<std::chrono::seconds> try_spend(const PeerAddress& peer, core::MonoTime now);

private:
    const Options options_;
    mutable std::mutex mutex_;
    core::TokenBuckets<PeerAddress> buckets_;  ///< under mutex_
};

}  // namespace beckon::net
