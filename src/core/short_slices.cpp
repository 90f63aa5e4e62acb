#include "core/short_slices.hpp"

#include <cstdint>

#include <sys/syscall.h>
#include <unistd.h>

namespace beckon::core {

namespace {

/// The kernel's sched_attr in its first form (sched_setattr(2)); glibc has none.
struct SchedulerAttributes {
    std::uint32_t size = sizeof(SchedulerAttributes);
    std::uint32_t policy = 0;
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t runtime_ns = 0;  ///< of an ordinary thread: its slice
    std::uint64_t deadline_ns = 0;
    std::uint64_t period_ns = 0;
};
static_assert(sizeof(SchedulerAttributes) == 48);

}  // namespace

void run_in_short_slices(std::chrono::nanoseconds slice) noexcept {
    SchedulerAttributes now;
    if (::syscall(SYS_sched_getattr, 0, &now, sizeof now, 0) != 0) return;
    now.size = sizeof now;
    now.runtime_ns = static_cast<std::uint64_t>(slice.count());
    static_cast<void>(::syscall(SYS_sched_setattr, 0, &now, 0));
}

}  // namespace beckon::core
