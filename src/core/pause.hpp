#pragma once

#include "core/clock.hpp"

#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace beckon::core {

/// For a thread that does something again and again: waits for `time`, or until it is asked to
/// stop. False: it was.
inline bool pause(const std::stop_token& stop, Duration time) {
    std::mutex mutex;
    std::condition_variable_any over;
    std::unique_lock lock{mutex};
    over.wait_for(lock, stop, time, [] { return false; });
    return !stop.stop_requested();
}

}  // namespace beckon::core
