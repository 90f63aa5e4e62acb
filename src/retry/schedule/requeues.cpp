#include "retry/schedule/requeues.hpp"

#include <algorithm>

namespace beckon::retry {

using core::Duration;
using core::MonoTime;

std::optional<int> Requeues::tier_for(const TierTable& table, Duration wait, MonoTime now) const {
    const auto& tiers = table.tiers();
    if (tiers.size() == 1) return std::nullopt;
    const auto least = std::min<Duration>(wait, kWaitMost);
    std::size_t sooner = 0;  // deliveries that are due no later than one that enters this tier
    for (std::size_t i = 1; i + 1 < tiers.size(); ++i) {
        const auto longer = table.delay(tiers[i + 1]);
        sooner += count(tiers[i], now);
        if (table.delay(tiers[i]) < least) continue;
        const auto capacity = kComeBackPerSecond * static_cast<std::size_t>(longer.count());
        if (sooner < capacity || longer > kWaitMost) return tiers[i];
    }
    return tiers.back();
}

void Requeues::put(const TierTable& table, int tier, MonoTime now) {
    const auto before = count(tier, now);
    held_[tier] = {before + 1, now + table.delay(tier) + kLate};
}

void Requeues::came_back(int tier) {
    const auto found = held_.find(tier);
    if (found != held_.end() && --found->second.count == 0) held_.erase(found);
}

std::size_t Requeues::count(int tier, MonoTime now) const {
    const auto found = held_.find(tier);
    return found == held_.end() || now > found->second.gone ? 0 : found->second.count;
}

}  // namespace beckon::retry
