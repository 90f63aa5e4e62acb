#pragma once

#include "core/clock.hpp"

#include <chrono>

#include <time.h>

namespace beckon::test {

/// Time of the processor that the calling thread has had: other processes take nothing of it, and
/// waiting costs none.
inline core::Duration thread_cpu_time() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

}  // namespace beckon::test
