#include "ingest/vapid/failed_checks.hpp"

namespace beckon::ingest {

namespace {

net::RateLimiter::Options per_minute(std::size_t limit) {
    net::RateLimiter::Options options;
    options.limit = limit;
    options.window = std::chrono::minutes{1};
    return options;
}

}  // namespace

FailedChecks::FailedChecks(std::size_t limit)
    : clients_(per_minute(limit)), unnamed_proxies_(per_minute(limit * kClaimedClients)) {}

std::optional<std::chrono::seconds> FailedChecks::wait(const Origin& origin,
                                                       core::MonoTime now) const {
    if (const auto wait = clients_.wait(origin.claimed.value_or(origin.client), now)) return wait;
    if (!origin.claimed) return std::nullopt;
    return unnamed_proxies_.wait(origin.client, now);
}

void FailedChecks::add(const Origin& origin, core::MonoTime now) {
    clients_.spend(origin.claimed.value_or(origin.client), now);
    if (origin.claimed) unnamed_proxies_.spend(origin.client, now);
}

}  // namespace beckon::ingest
