#pragma once

#include "log/blocking_executor.hpp"

#include <functional>
#include <string>
#include <thread>

namespace beckon::reliability {

/// A thread that runs posted tasks and nothing else. Its objects are made and destroyed through
/// run_there().
class Loop {
public:
    /// `name`: up to 15 characters.
    explicit Loop(std::string name);
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    core::Executor& executor() { return executor_; }
    /// Runs `task` on the thread and waits until it has returned. Rethrows its exception.
    void run_there(const std::function<void()>& task);

private:
    log::BlockingExecutor executor_;
    bool stopped_ = false;  ///< of the thread
    std::thread thread_;
};

}  // namespace beckon::reliability
