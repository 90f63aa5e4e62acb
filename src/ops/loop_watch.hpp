#pragma once

#include "core/clock.hpp"
#include "ops/health.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace beckon::ops {

/// Judges the loops of one part of the process by how long ago each came round. One that has not
/// for a minute is dead to Health, as only a restart is likely to help; that is taken back when it
/// turns again. Whoever asks runs on another thread than the loop asked about. Thread-safe.
class LoopWatch {
public:
    static constexpr core::Duration kDeadAfter = std::chrono::minutes{1};

    /// `part` is the name in Health. A loop serves nobody once it has not come round for
    /// `stalled_after`.
    LoopWatch(Health& health, std::string part, core::Duration stalled_after)
        : health_(health), part_(std::move(part)), stalled_after_(stalled_after) {}

    /// Why this loop serves nobody; empty: it turns.
    std::string why_stalled(const std::string& loop, core::Duration since_last_turn) const;

private:
    Health& health_;
    const std::string part_;
    const core::Duration stalled_after_;
};

}  // namespace beckon::ops
