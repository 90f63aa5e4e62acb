#pragma once

#include "core/clock.hpp"
#include "net/peer_address.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace beckon::net {

/// Token buckets by peer address: `limit` per `window`, refilled evenly. Bounded in addresses:
/// when full, those that have refilled are forgotten, and if there are none, newcomers share one
/// bucket. Thread-safe.
class RateLimiter {
public:
    struct Options {
        std::size_t limit = 0;  ///< 0: no limit
        core::Duration window = std::chrono::seconds{1};
        std::size_t addresses_max = 65'536;
    };
    explicit RateLimiter(const Options& options) : options_(options) {}

    bool enabled() const { return options_.limit > 0; }
    /// nullopt: there is space. Otherwise how long until there is (at least 1 s).
    std::optional<std::chrono::seconds> wait(const PeerAddress& peer, core::MonoTime now) const;
    /// Takes one.
    void spend(const PeerAddress& peer, core::MonoTime now);
    /// wait() and, if there is space, spend().
    std::optional<std::chrono::seconds> try_spend(const PeerAddress& peer, core::MonoTime now);

private:
    struct Bucket {
        double left = 0;
        core::MonoTime at{};
    };

    double refilled(const Bucket& bucket, core::MonoTime now) const;
    std::optional<std::chrono::seconds> wait_locked(const PeerAddress& peer,
                                                    core::MonoTime now) const;
    void spend_locked(const PeerAddress& peer, core::MonoTime now);
    const PeerAddress& key_of(const PeerAddress& key) const;

    const Options options_;
    mutable std::mutex mutex_;
    std::unordered_map<PeerAddress, Bucket> buckets_;  ///< under mutex_; absent = full
    core::MonoTime swept_{};                           ///< under mutex_
};

}  // namespace beckon::net
