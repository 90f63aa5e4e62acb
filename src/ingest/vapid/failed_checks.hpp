#pragma once

#include "core/clock.hpp"
#include "net/peer_address.hpp"
#include "net/rate_limiter.hpp"

#include <chrono>
#include <cstddef>
#include <optional>

namespace beckon::ingest {

/// Limits VAPID checks that cost a signature verification and fail. What is refused before the
/// signature is looked at (a token that has expired, another audience) is not counted, and a token
/// that was verified before is not asked for. Thread-safe.
class FailedChecks {
public:
    /// Whom a failure counts against.
    struct Origin {
        net::PeerAddress client;  ///< behind trusted proxies: the client's
        /// The peer looks like a proxy that nobody has named (docs/configuration.md,
        /// endpoint.trusted_proxies): what it says is behind it.
        std::optional<net::PeerAddress> claimed;
    };

    /// Behind an unnamed proxy each client has its own count, so that one of them does not stop the
    /// others; all of them together have so many times the limit, so that a peer that makes clients
    /// up is stopped all the same.
    static constexpr std::size_t kClaimedClients = 20;

    /// 0: no limit.
    explicit FailedChecks(std::size_t per_minute);

    /// nullopt: another check may be made. Otherwise how long to wait for that.
    std::optional<std::chrono::seconds> wait(const Origin& origin, core::MonoTime now) const;
    /// Counts a failure.
    void add(const Origin& origin, core::MonoTime now);

private:
    net::RateLimiter clients_;
    net::RateLimiter unnamed_proxies_;
};

}  // namespace beckon::ingest
