#pragma once

#include "core/clock.hpp"
#include "retry/home/tiers/tier_table.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>

namespace beckon::retry {

/// Counts the deliveries of one webhook, or of one owner, that wait in each tier, and chooses the
/// tier for one more that cannot be attempted now (docs/webhooks.md#waiting). Deliveries that
/// entered a tier together are due together, and most of them may have to wait again. So the more
/// wait, the longer the tier, and the traffic through the log stays bounded however many wait. An
/// OwnerBudget bounds what is held in memory, and these wait in the log alone. Pure; one thread.
class Requeues {
public:
    /// A tier may hold so many for each second until the next longer tier is due; a fuller one is
    /// passed over for the longer one.
    static constexpr std::size_t kComeBackPerSecond = 50;
    /// The same for all webhooks of an owner together.
    static constexpr std::size_t kOwnerPerSecond = 100;

    explicit Requeues(std::size_t come_back_per_second = kComeBackPerSecond)
        : come_back_per_second_(come_back_per_second) {}
    /// Longer tiers are not chosen, if there is a shorter one.
    static constexpr std::chrono::seconds kWaitMost = std::chrono::minutes{30};

    /// The tier for a delivery that cannot be attempted before `wait` is over. nullopt: there is
    /// only tier 0.
    std::optional<int> tier_for(const TierTable& table, core::Duration wait,
                                core::MonoTime now) const {
        const auto& tiers = table.tiers();
        if (tiers.size() == 1) return std::nullopt;
        const auto least = std::min<core::Duration>(wait, kWaitMost);
        std::size_t sooner = 0;  // deliveries that are due no later than one that enters this tier
        for (std::size_t i = 1; i + 1 < tiers.size(); ++i) {
            const auto longer = table.delay(tiers[i + 1]);
            sooner += count(tiers[i], now);
            if (table.delay(tiers[i]) < least) continue;
            const auto capacity = come_back_per_second_ * static_cast<std::size_t>(longer.count());
            if (sooner < capacity || longer > kWaitMost) return tiers[i];
        }
        return tiers.back();
    }

    /// Counts a delivery that was promoted to a tier.
    void put(const TierTable& table, int tier, core::MonoTime now) {
        held_[tier] = {count(tier, now) + 1, now + table.delay(tier) + kLate};
    }
    /// Counts a delivery that came due in a tier. Deliveries of an earlier home are not counted.
    void came_back(int tier) { remove(tier, 1); }
    /// Subtracts the deliveries of a removed webhook.
    void forget(const Requeues& gone) {
        for (const auto& [tier, held] : gone.held_) remove(tier, held.count);
    }

    std::size_t count(int tier, core::MonoTime now) const {
        const auto found = held_.find(tier);
        return found == held_.end() || now > found->second.gone ? 0 : found->second.count;
    }

    /// Copies are dropped and never come due: deliveries that are so late are not waited for any
    /// more.
    static constexpr std::chrono::seconds kLate = std::chrono::minutes{1};

private:
    void remove(int tier, std::size_t count) {
        const auto found = held_.find(tier);
        if (found == held_.end()) return;
        found->second.count -= std::min(count, found->second.count);
        if (found->second.count == 0) held_.erase(found);
    }

    struct Held {
        std::size_t count = 0;
        core::MonoTime gone{};  ///< when the last of them must have come back
    };
    std::size_t come_back_per_second_;
    std::map<int, Held> held_;  ///< by tier
};

}  // namespace beckon::retry
