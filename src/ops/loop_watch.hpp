#pragma once

#include "core/clock.hpp"
#include "ops/health.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace beckon::ops {

/// Judges the loops of one part of the process by the time since each one's last turn. After a
/// minute a loop is reported to Health as dead, since probably only a restart helps; a later turn
/// takes that back. Query a loop from another thread than its own. Thread-safe.
class LoopWatch {
public:
    static constexpr core::Duration kDeadAfter = std::chrono::minutes{1};

    /// `part` is the name in Health. A loop is stalled once it has not turned for `stalled_after`.
    LoopWatch(Health& health, std::string part, core::Duration stalled_after)
        : health_(health), part_(std::move(part)), stalled_after_(stalled_after) {}

    /// The reason why this loop is stalled; empty: it turns.
    std::string why_stalled(const std::string& loop, core::Duration since_last_turn) const;

private:
    Health& health_;
    const std::string part_;
    const core::Duration stalled_after_;
};

}  // namespace beckon::ops
