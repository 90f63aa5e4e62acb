#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace beckon::core {

using Duration = std::chrono::nanoseconds;

/// Milliseconds since the Unix epoch. In records: the log's append time, the only time that
/// decides.
using Timestamp = std::chrono::sys_time<std::chrono::milliseconds>;

/// Tag clock of MonoTime: time since boot, suspend included (CLOCK_BOOTTIME), so that a process
/// which was frozen notices how long.
struct BootClock {
    using duration = Duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<BootClock>;
    static constexpr bool is_steady = true;  // NOLINT(readability-identifier-naming)
};
using MonoTime = BootClock::time_point;

/// Source of time, given to constructors; tests use ManualClock. Thread-safe.
class Clock {
public:
    virtual ~Clock() = default;
    /// Host wall time. For log lines, JWT checks and ids only: expiry and due times use LogClock.
    virtual Timestamp wall() const = 0;
    /// For waits and time-outs.
    virtual MonoTime mono() const = 0;
};

/// The host's clocks.
class SystemClock final : public Clock {
public:
    Timestamp wall() const override;
    MonoTime mono() const override;
};

/// The processor time that the calling thread has had. A system call: some tenths of a microsecond.
Duration thread_time();

}  // namespace beckon::core
