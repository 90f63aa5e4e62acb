#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <chrono>

namespace beckon::retry {

/// When the records of one tier's partition are due. Append times may step back (a broker's clock,
/// a new leader), so a record is due at the greatest append time that the partition has shown so
/// far, plus the tier's delay: the order of offsets is the order of due times. Pure; one thread.
class Maturity {
public:
    /// Waits longer than this pause the reader, which drops prefetched records; for shorter ones
    /// that costs more than it saves.
    static constexpr core::Duration kPauseAbove = std::chrono::seconds{30};
    /// A paused reader goes on so long before its head is due.
    static constexpr core::Duration kResumeAhead = std::chrono::seconds{2};

    explicit Maturity(std::chrono::seconds delay) : delay_(delay) {}

    /// The due time of the next record, which was appended at `appended`.
    core::Timestamp due(core::Timestamp appended) {
        newest_ = std::max(newest_, appended);
        return newest_ + delay_;
    }

    struct Plan {
        core::Duration until_due{};  ///< zero or less: it is due
        bool pause = false;          ///< or stay so, and resume `resume_after` from now
        core::Duration resume_after{};
    };
    static Plan plan(core::Duration until_due, bool paused = false) {
        const bool far = until_due > (paused ? kResumeAhead : kPauseAbove);
        return {until_due, far, far ? until_due - kResumeAhead : core::Duration{}};
    }

private:
    std::chrono::seconds delay_;
    core::Timestamp newest_ = core::Timestamp::min() + std::chrono::hours{24 * 365};
};

}  // namespace beckon::retry
