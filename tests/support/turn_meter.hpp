#pragma once

#include "edge/loop/loop.hpp"
#include "support/cpu_time.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include <catch2/catch.hpp>

namespace beckon::test {

/// How long a turn of a loop may take in a test that fills bounds: far below what makes a loop's
/// thread suspect (half of the session time-out), and what nobody who is connected to the same
/// shard should wait. With a sanitizer nothing is measured.
#if defined(BECKON_SANITIZED)
inline constexpr std::chrono::seconds kTurnMost{10};
#else
inline constexpr std::chrono::milliseconds kTurnMost{200};
#endif

/// The longest turn of a loop with a thread of its own, from the end of one turn to the end of the
/// next.
class TurnMeter {
public:
    /// Before the loop starts.
    explicit TurnMeter(edge::Loop& loop) {
        loop.at_turn_end([this] {
            const auto now = thread_cpu_time();
            if (last_) longest_ = std::max(longest_, now - *last_);
            last_ = now;
            return false;
        });
    }
    TurnMeter(const TurnMeter&) = delete;
    TurnMeter& operator=(const TurnMeter&) = delete;

    /// Once the loop has stopped.
    void check() const { CHECK(longest_ < kTurnMost); }

private:
    std::optional<core::Duration> last_;  ///< the end of the last turn
    core::Duration longest_{};
};

}  // namespace beckon::test
