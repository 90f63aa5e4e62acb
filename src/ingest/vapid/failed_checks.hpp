#pragma once

#include "core/clock.hpp"
#include "net/peer_address.hpp"
#include "net/rate_limiter.hpp"

#include <chrono>
#include <cstddef>
#include <optional>

namespace beckon::ingest {

/// Limits VAPID checks that cost a signature verification and fail. Tokens that are refused before
/// their signature is checked (expired, for another audience) do not count, and the limit does not
/// apply to tokens that were verified before. Thread-safe.
class FailedChecks {
public:
    /// The peer against whom a failure counts.
    struct Origin {
        net::PeerAddress client;  ///< behind trusted proxies: the client's
        /// The client that the peer claims to forward, if the peer looks like a proxy that the
        /// configuration does not name (docs/configuration.md, endpoint.trusted_proxies).
        std::optional<net::PeerAddress> claimed;
    };

    /// Each client behind an unnamed proxy has its own count, so that none stops the others.
    /// Together they have so many times the limit, so that a peer that invents clients is stopped
    /// all the same.
    static constexpr std::size_t kClaimedClients = 20;

    /// 0: no limit.
    explicit FailedChecks(std::size_t per_minute);

    /// nullopt: another check is allowed. Otherwise the time until the next one is.
    std::optional<std::chrono::seconds> wait(const Origin& origin, core::MonoTime now) const;
    /// Counts a failure.
    void add(const Origin& origin, core::MonoTime now);

private:
    net::RateLimiter clients_;
    net::RateLimiter unnamed_proxies_;
};

}  // namespace beckon::ingest
