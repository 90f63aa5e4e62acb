#pragma once

#include "core/clock.hpp"
#include "retry/tiers/tier_table.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>

namespace beckon::retry {

/// How many deliveries of one webhook wait in which tier, and the tier for one more that cannot be
/// attempted now (docs/webhooks.md#waiting). A tier hands back together what was put there
/// together, and most of it may have to wait again; so the more waits, the longer the tier, and
/// what goes round through the log stays bounded however much waits. Pure; one thread.
class Requeues {
public:
    /// So many for each second until the next longer tier hands its own back: a tier that holds
    /// more is passed over for the longer one.
    static constexpr std::size_t kComeBackPerSecond = 50;
    /// Longer tiers are not chosen, if there is a shorter one.
    static constexpr std::chrono::seconds kWaitMost = std::chrono::minutes{30};

    /// The tier for a delivery that can do nothing before `wait` is over. nullopt: there is only
    /// tier 0.
    std::optional<int> tier_for(const TierTable& table, core::Duration wait,
                                core::MonoTime now) const;

    /// One was promoted to a tier.
    void put(const TierTable& table, int tier, core::MonoTime now);
    /// A tier has handed one back. What was put there by an earlier home is not known.
    void came_back(int tier);

    std::size_t count(int tier, core::MonoTime now) const;

    /// Copies are dropped and never come back: what is so late is not waited for any more.
    static constexpr std::chrono::seconds kLate = std::chrono::minutes{1};

private:
    struct Held {
        std::size_t count = 0;
        core::MonoTime gone{};  ///< when the last of them must have come back
    };
    std::map<int, Held> held_;  ///< by tier
};

}  // namespace beckon::retry
