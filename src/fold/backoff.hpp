#pragma once

#include "core/clock.hpp"

#include <algorithm>

namespace beckon::fold {

/// Pauses between attempts: each twice as long as the one before, up to a limit.
class Backoff {
public:
    Backoff(core::Duration first, core::Duration most) : first_(first), most_(most), next_(first) {}

    core::Duration pause() {
        const auto now = next_;
        next_ = std::min(2 * next_, most_);
        return now;
    }
    void worked() { next_ = first_; }

private:
    const core::Duration first_;
    const core::Duration most_;
    core::Duration next_;
};

}  // namespace beckon::fold
