#pragma once

#include <chrono>

namespace beckon::core {

/// Asks the kernel to give the calling thread the processor for short times, and so, when it wakes,
/// soon: the scheduler lets a thread that asks for less at a time go first, and otherwise a thread
/// that wakes waits up to 3 ms for each of those that work (EEVDF; Linux 6.12 and later, sched(7)).
/// Its share of the processor stays the same. For threads whose turns are short and that many wait
/// for. Where the kernel does not know it, nothing changes.
void run_in_short_slices(std::chrono::nanoseconds slice = std::chrono::microseconds{250}) noexcept;

}  // namespace beckon::core
