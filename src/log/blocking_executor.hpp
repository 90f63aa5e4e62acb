#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>

namespace beckon::log {

/// Runs posted tasks on the thread that waits: for start-ups and tools, which have no loop.
class BlockingExecutor final : public core::Executor {
public:
    void post(Task task) override;
    void post_after(core::Duration delay, Task task) override;
    /// Runs tasks until `done()`; false when the time is over.
    bool wait_until(const std::function<bool()>& done, core::MonoTime until);

private:
    core::SystemClock clock_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::multimap<core::MonoTime, Task> tasks_;  ///< under mutex_
};

}  // namespace beckon::log
