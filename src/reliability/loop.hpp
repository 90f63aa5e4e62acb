#pragma once

#include "log/blocking_executor.hpp"

#include <functional>
#include <string>
#include <thread>

namespace beckon::reliability {

/// A thread that runs what is posted to it, and nothing else. What lives on it is made and ended by
/// run_there().
class Loop {
public:
    /// `name`: up to 15 characters.
    explicit Loop(std::string name);
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    core::Executor& executor() { return executor_; }
    /// Runs `task` on the thread and waits until it has returned. Rethrows what it throws.
    void run_there(const std::function<void()>& task);

private:
    log::BlockingExecutor executor_;
    bool stopped_ = false;  ///< of the thread
    std::thread thread_;
};

}  // namespace beckon::reliability
