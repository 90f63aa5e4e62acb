#include "net/rate_limiter.hpp"

#include <algorithm>
#include <cmath>

namespace beckon::net {

namespace {

/// Where newcomers are counted once there are too many addresses; no peer has this address.
const PeerAddress kShared{};

constexpr core::Duration kSweepInterval = std::chrono::seconds{1};

}  // namespace

double RateLimiter::refilled(const Bucket& bucket, core::MonoTime now) const {
    const auto limit = static_cast<double>(options_.limit);
    const auto passed = std::chrono::duration<double>(now - bucket.at).count();
    const auto window = std::chrono::duration<double>(options_.window).count();
    return std::min(limit, bucket.left + limit * passed / window);
}

const PeerAddress& RateLimiter::key_of(const PeerAddress& key) const {
    const bool capacity = buckets_.size() < options_.addresses_max;
    return capacity || buckets_.contains(key) ? key : kShared;
}

std::optional<std::chrono::seconds> RateLimiter::wait_locked(const PeerAddress& peer,
                                                             core::MonoTime now) const {
    const auto found = buckets_.find(key_of(peer));
    if (found == buckets_.end()) return std::nullopt;
    const auto left = refilled(found->second, now);
    if (left >= 1) return std::nullopt;
    const auto per_second = static_cast<double>(options_.limit) /
                            std::chrono::duration<double>(options_.window).count();
    return std::chrono::seconds{std::max<long>(1, std::lround(std::ceil((1 - left) / per_second)))};
}

void RateLimiter::spend_locked(const PeerAddress& peer, core::MonoTime now) {
    const bool crowded = buckets_.size() >= options_.addresses_max && !buckets_.contains(peer);
    if (crowded && now - swept_ >= kSweepInterval) {  // a sweep checks every bucket
        swept_ = now;
        const auto limit = static_cast<double>(options_.limit);
        std::erase_if(buckets_,
                      [&](const auto& entry) { return refilled(entry.second, now) >= limit; });
    }
    const auto [found, is_new] = buckets_.try_emplace(key_of(peer));
    auto& bucket = found->second;
    const auto left = is_new ? static_cast<double>(options_.limit) : refilled(bucket, now);
    bucket = {std::max(0.0, left - 1), now};
}

std::optional<std::chrono::seconds> RateLimiter::wait(const PeerAddress& peer,
                                                      core::MonoTime now) const {
    if (!enabled()) return std::nullopt;
    const std::scoped_lock lock{mutex_};
    return wait_locked(peer.limit_key(), now);
}

void RateLimiter::spend(const PeerAddress& peer, core::MonoTime now) {
    if (!enabled()) return;
    const std::scoped_lock lock{mutex_};
    spend_locked(peer.limit_key(), now);
}

std::optional<std::chrono::seconds> RateLimiter::try_spend(const PeerAddress& peer,
                                                           core::MonoTime now) {
    if (!enabled()) return std::nullopt;
    const std::scoped_lock lock{mutex_};
    const auto key = peer.limit_key();
    const auto wait = wait_locked(key, now);
    if (!wait) spend_locked(key, now);
    return wait;
}

}  // namespace beckon::net
