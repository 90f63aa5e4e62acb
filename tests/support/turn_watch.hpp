#pragma once

#include "core/clock.hpp"
#include "support/cpu_time.hpp"

#include <chrono>

namespace beckon::test {

/// How long a turn of a thread may take, in the processor's time: far below what makes a loop's
/// thread suspect (half of the session time-out), and what nobody who is connected to the same
/// shard should wait.
inline constexpr std::chrono::milliseconds kTurnMost{200};

/// Fails the test, at its end, if this turn took longer than kTurnMost. Any thread.
///
/// Every test has a watch on all threads of the product (turn_watch.cpp), and the executors of
/// tests tell theirs of the turns that they run. With a sanitizer nothing is measured.
void turn_took(core::Duration cpu);

/// Measures a turn from its construction to its end, both on one thread.
class Turn {
public:
    Turn() = default;
    ~Turn() { turn_took(thread_cpu_time() - began_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    core::Duration began_ = thread_cpu_time();
};

}  // namespace beckon::test
