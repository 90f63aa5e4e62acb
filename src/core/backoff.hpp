#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"

#include <algorithm>

namespace beckon::core {

/// Pauses between attempts: each up to twice as long as the one before, up to a limit. By chance a
/// pause is up to half shorter, so that the many that fail together do not all try again together.
class Backoff {
public:
    Backoff(Duration first, Duration most) : first_(first), most_(most), next_(first) {}

    Duration pause() {
        const auto longest = next_;
        next_ = std::min(2 * next_, most_);
        return longest - longest / 512 * random_uuid4().front();  // up to 255 of 512 parts less
    }
    void worked() { next_ = first_; }

private:
    Duration first_;
    Duration most_;
    Duration next_;
};

}  // namespace beckon::core
