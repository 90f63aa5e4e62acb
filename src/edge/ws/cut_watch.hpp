#pragma once

#include "core/clock.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace beckon::edge {

/// Notices that connections end again and again at the same age, which no client does by itself: a
/// proxy or a firewall ends them (nginx after 60 s without a byte). One thread.
class CutWatch {
public:
    /// If kSame of the last kSamples lost connections had the same age within a second, a timer has
    /// cut them.
    static constexpr std::size_t kSamples = 40;
    static constexpr std::size_t kSame = 30;
    /// Younger ones end for many reasons.
    static constexpr core::Duration kYoungest = std::chrono::seconds{5};
    static constexpr core::Duration kLogAgain = std::chrono::hours{1};

    /// A connection was lost at this age. The age in question if it is time for a warning.
    std::optional<std::chrono::seconds> lost(core::Duration age, core::MonoTime now) {
        ages_[next_++ % kSamples] = age;
        if (next_ < kSamples || age < kYoungest || (logged_ && now - *logged_ < kLogAgain))
            return {};
        const auto same = std::count_if(ages_.begin(), ages_.end(), [&](core::Duration other) {
            return std::chrono::abs(other - age) <= std::chrono::seconds{1};
        });
        if (same < static_cast<std::ptrdiff_t>(kSame)) return {};
        logged_ = now;
        return std::chrono::round<std::chrono::seconds>(age);
    }

private:
    std::array<core::Duration, kSamples> ages_{};
    std::size_t next_ = 0;
    std::optional<core::MonoTime> logged_;
};

}  // namespace beckon::edge
