#pragma once

#include "log/blocking_executor.hpp"
#include "ops/ops_server.hpp"

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace beckon::inspect {

/// A thread that makes late pages of the ops port, one after the other: they read files or the log,
/// and the port's own thread does not wait for them. An exception ends its page alone, with 500.
class PageThread {
public:
    explicit PageThread(std::string name);
    /// Waits for the page under way. The pages behind it are not made.
    ~PageThread();
    PageThread(const PageThread&) = delete;
    PageThread& operator=(const PageThread&) = delete;

    /// Any thread; `make` and `done` are called on this one.
    void answer(std::function<ops::Page()> make, ops::PageDone done);

private:
    void work();

    const std::string name_;
    log::BlockingExecutor tasks_;
    std::atomic<bool> stopping_{false};
    std::jthread thread_;  ///< last: it uses the others
};

}  // namespace beckon::inspect
