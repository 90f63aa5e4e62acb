#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace beckon::log::kafka {

/// For waits of milliseconds within a process that runs.
using SteadyTime = std::chrono::steady_clock::time_point;

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

/// How long a record may wait for company where so many records pass a second. None waits where
/// there are few: the wait would be all of its time. Where there are many, requests that carry one
/// record each would fill the machine, and everybody would wait for that
/// (docs/decisions/0198-messages-have-company-where-there-is-traffic.md).
std::chrono::milliseconds company_wait(std::size_t per_second);

}  // namespace beckon::log::kafka
