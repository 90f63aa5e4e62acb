#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace beckon::bench {

struct LoadOptions {
    std::uint16_t port = 0;
    int connections = 64;
    std::chrono::milliseconds duration{3000};
    std::uint64_t answers = 0;  ///< if not 0: until so many have come, however long that takes
    /// Whole requests, sent in turn; each must be answered with status 201.
    std::vector<std::string> requests;
};

struct LoadResult {
    std::uint64_t answered = 0;
    std::uint64_t refused = 0;  ///< any other status, or a lost connection
    double seconds = 0;
    double p50_us = 0;
    double p99_us = 0;
    double client_cpu_s = 0;
};

/// Closed loop: each connection sends its next request when the last was answered. Runs in a
/// child process, so that the CPU of this one is the server's.
LoadResult run_load(const LoadOptions& options);

}  // namespace beckon::bench
