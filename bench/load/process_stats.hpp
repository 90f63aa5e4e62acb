#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace beckon::bench {

/// The resources that a process has used so far, from /proc.
struct ProcessSample {
    double cpu_s = 0;             ///< user + system, its ended threads included; steps of 10 ms
    std::uint64_t rss_bytes = 0;  ///< resident
    std::uint64_t pss_bytes = 0;  ///< resident, shared pages divided by their users; 0: not allowed
};

/// A process to account for.
struct NamedProcess {
    std::string name;
    pid_t pid = 0;
};

/// `name=pid`, or `pid`, whose name is then that of the program. `invalid` if there is none.
core::Result<NamedProcess> parse_process(const std::string& text);

/// `not_found` if the process has ended.
core::Result<ProcessSample> sample_process(pid_t pid);

/// CPU seconds of this process, to the microsecond.
double own_cpu_s();

}  // namespace beckon::bench
