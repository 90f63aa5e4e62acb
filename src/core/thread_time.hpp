#pragma once

#include "core/clock.hpp"

#include <time.h>

namespace beckon::core {

/// The processor time that the calling thread has had. A system call: some tenths of a microsecond.
inline Duration thread_time() {
    timespec had{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &had);
    return std::chrono::seconds{had.tv_sec} + std::chrono::nanoseconds{had.tv_nsec};
}

}  // namespace beckon::core
