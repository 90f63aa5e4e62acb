#pragma once

#include "core/result.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

/// The numbered delay topics (docs/formats/retry.md).
namespace beckon::retry {

/// When a delivery is tried: the delays of `control`, one for each attempt. A **step** is a place
/// in this list; its **tier** is the log topic `retry.<tier>` in which a delivery waits for it.
/// Steps with equal delays share the tier of the first of them, so that each topic has one delay
/// and matures in the order of its offsets. Immutable; any thread.
class TierTable {
public:
    static constexpr std::chrono::seconds kDelayMax = std::chrono::hours{24 * 7};

    /// Errors: invalid (the message shows the table and its fault): no delay or more than
    /// log::Topic::kTiersMax, a first delay other than zero, a delay shorter than the one before
    /// it, a delay above kDelayMax.
    static core::Result<TierTable> from(std::vector<std::chrono::seconds> delays);

    int steps() const { return static_cast<int>(delays_.size()); }
    std::chrono::seconds delay(int step) const;
    /// The tier in which a delivery waits for this step.
    int tier_of(int step) const;
    /// The tiers that are in use, ascending.
    const std::vector<int>& tiers() const { return tiers_; }

    /// The step after `step`; with `at_least` (the receiver's Retry-After) the first later step
    /// whose delay is not shorter, or the last step if none is so long. nullopt after the last
    /// step.
    std::optional<int> next(int step, std::chrono::seconds at_least = {}) const;

    /// The sum of all delays: how long a delivery lives at least.
    std::chrono::seconds total() const;
    /// "0s 5s 60s", as messages show it.
    std::string text() const;
    bool operator==(const TierTable& other) const { return delays_ == other.delays_; }

private:
    explicit TierTable(std::vector<std::chrono::seconds> delays);
    std::vector<std::chrono::seconds> delays_;
    std::vector<int> tiers_;
};

}  // namespace beckon::retry
