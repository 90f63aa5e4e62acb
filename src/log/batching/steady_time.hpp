#pragma once

#include <chrono>

namespace beckon::log {

/// For waits of milliseconds within a process that runs.
using SteadyTime = std::chrono::steady_clock::time_point;

}  // namespace beckon::log
