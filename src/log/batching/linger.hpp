#pragma once

#include "log/batching/processors.hpp"
#include "log/batching/steady_time.hpp"

#include <atomic>
#include <chrono>
#include <mutex>

namespace beckon::log {

/// How long a batch lingers where others could join it: the shortest time with which the processors
/// have some time to spare, and not at all where they have it anyway. A request costs about the
/// same with one record as with twenty, so with a longer linger the same records cost less. The
/// rule knows no rates, and fits fast and slow machines.
///
/// A process that uses little of the processors gains nothing for others by waiting, and does not:
/// a machine that is busy with other work does not make its records wait. Any thread.
class Linger {
public:
    explicit Linger(std::chrono::milliseconds most) : most_(most) {}

    SteadyTime::duration now() const { return SteadyTime::duration{linger_.load()}; }

    /// What `spans` times kSpan were like.
    void measured(const Processors::Load& load, int spans = 1);
    static constexpr std::chrono::milliseconds kSpan{200};
    /// With less of the processors idle it grows, with more it shrinks: its logarithm by kGain
    /// times the difference, so by half in a span without any idle. What one span has too little
    /// and the next one too much cancels out: that spans differ makes it no longer.
    static constexpr double kIdle = 0.2;
    static constexpr double kGain = 2;
    /// The process uses at least this share of them.
    static constexpr double kOwnLeast = 0.1;
    /// Else it shrinks as if so much were idle, or more if more is.
    static constexpr double kIdleOfOthers = 0.3;

private:
    const SteadyTime::duration most_;
    std::atomic<SteadyTime::rep> linger_ = 0;
};

/// The linger of this process. Any thread.
class OwnLinger {
public:
    explicit OwnLinger(std::chrono::milliseconds most) : linger_(most) {}
    /// Looks at the processors if that is due. Each batch and each answer calls it.
    SteadyTime::duration at(SteadyTime now);

private:
    Linger linger_;
    std::mutex measuring_;
    std::atomic<SteadyTime::rep> due_ = 0;
    Processors processors_;  ///< under measuring_
};

}  // namespace beckon::log
