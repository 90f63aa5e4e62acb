#pragma once

#include "core/clock.hpp"

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>

namespace beckon::log::kafka {

/// A thread for calls that may wait for a broker: one job after the other, in order of their times.
/// Destroying it stops it.
class Worker {
public:
    using Job = std::function<void()>;

    /// `name` has at most 15 characters; `jobs_max` bounds the jobs that wait.
    Worker(const char* name, std::size_t jobs_max);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Waits for the job that runs and drops the others; nothing is taken afterwards. Idempotent.
    void stop();

    /// False when jobs_max jobs wait already, or after stop(). From any thread.
    bool post(Job job);
    bool post_after(core::Duration delay, Job job);

private:
    void run(const std::stop_token& stop, const char* name);

    const std::size_t jobs_max_;
    core::SystemClock clock_;
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::multimap<core::MonoTime, Job> jobs_;  ///< under mutex_, as the next
    bool stopped_ = false;
    std::jthread thread_;  ///< last: it uses the others
};

}  // namespace beckon::log::kafka
