#include "net/rate_limiter.hpp"

#include <algorithm>

namespace beckon::net {

namespace {

core::TokenRate rate_of(const RateLimiter::Options& options) {
    const auto limit = std::max<std::size_t>(options.limit, 1);
    return {.at_once = limit, .each = options.window / static_cast<core::Duration::rep>(limit)};
}

std::optional<std::chrono::seconds> in_seconds(const std::optional<core::Duration>& wait) {
    if (!wait) return std::nullopt;
    return std::chrono::ceil<std::chrono::seconds>(*wait);
}

}  // namespace

RateLimiter::RateLimiter(const Options& options)
    : options_(options), buckets_(rate_of(options), options.addresses_max) {}

std::optional<std::chrono::seconds> RateLimiter::wait(const PeerAddress& peer,
                                                      core::MonoTime now) const {
    if (!enabled()) return std::nullopt;
    const std::scoped_lock lock{mutex_};
    return in_seconds(buckets_.wait(peer.limit_key(), now));
}

void RateLimiter::spend(const PeerAddress& peer, core::MonoTime now) {
    if (!enabled()) return;
    const std::scoped_lock lock{mutex_};
    buckets_.take(peer.limit_key(), now);
}

std::optional<std::chrono::seconds> RateLimiter::try_spend(const PeerAddress& peer,
                                                           core::MonoTime now) {
    if (!enabled()) return std::nullopt;
    const std::scoped_lock lock{mutex_};
    const auto key = peer.limit_key();
    const auto wait = buckets_.wait(key, now);
    if (!wait) buckets_.take(key, now);
    return in_seconds(wait);
}

}  // namespace beckon::net
