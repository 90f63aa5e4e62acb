#pragma once

#include "log/batching.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace beckon::log {

/// How many records a second pass: those of the last tenth of a second. Any thread.
class Traffic {
public:
    void count(std::size_t records, SteadyTime now);
    /// 0 after a silence.
    std::size_t per_second(SteadyTime now) const;

private:
    std::atomic<std::int64_t> since_ = 0;  ///< of the steady clock, in ns
    std::atomic<std::size_t> records_ = 0;
    std::atomic<std::size_t> per_second_ = 0;
};

/// From so many records a second on, so long a wait.
struct WaitStep {
    std::size_t per_second;
    std::chrono::milliseconds wait;
};
/// The wait of the first step that is reached, 0 if none is. `steps`: the highest first.
std::chrono::milliseconds wait_at(std::size_t per_second, std::span<const WaitStep> steps);

}  // namespace beckon::log
