#pragma once

#include "core/clock.hpp"

#include <chrono>

namespace beckon::test {

/// The longest turn of a thread, in the processor's time. It is far below the stall that makes a
/// loop count as stalled (half of the session time-out), and short enough for other clients of the
/// shard.
inline constexpr std::chrono::milliseconds kTurnMost{200};

/// When a turn began.
struct TurnStart {
    std::chrono::steady_clock::time_point wall;
    core::Duration cpu;  ///< the processor's time of this thread, up to kCpuTimeAge old
};

/// Asking the kernel for the processor's time at each turn took a quarter of the simulation's time.
inline constexpr std::chrono::milliseconds kCpuTimeAge{5};

/// The calling thread begins a turn.
TurnStart begin_turn();

/// Fails the test, at its end, if the turn that ends here took longer than kTurnMost; it is
/// measured by up to kCpuTimeAge too long. The thread that began it.
///
/// Every test has a watch on all threads of the product (turn_watch.cpp), and the executors of
/// tests report their turns to it. With a sanitizer nothing is measured.
void end_turn(const TurnStart& start);

/// A turn from its construction to its end, both on one thread.
class Turn {
public:
    Turn() = default;
    ~Turn() { end_turn(start_); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    const TurnStart start_ = begin_turn();
};

}  // namespace beckon::test
