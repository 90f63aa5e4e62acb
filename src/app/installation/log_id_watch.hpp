#pragma once

#include "core/clock.hpp"
#include "log/event_log.hpp"
#include "ops/health.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace beckon::app {

/// Notices that the log topics were deleted and made anew under a running process, or adopted: the
/// topic `control` names another log id than the one with which the process began. Its stores,
/// positions and producers belong to a log that is no more, so it is not ready from then on, and
/// ends, to begin anew with the log that is there.
///
/// It reads `control` every half minute, and every two seconds while that fails, on a thread of its
/// own ("log-id-watch").
class LogIdWatch {
public:
    struct Options {
        std::string log_id;  ///< with which the process began
        std::chrono::milliseconds every = std::chrono::seconds{30};
        std::chrono::milliseconds after_failure = std::chrono::seconds{2};
    };
    /// `end` is called once, on the thread of the watch, and asks the process to stop. Both
    /// references outlive it.
    LogIdWatch(log::EventLog& log, ops::Health& health, Options options, std::function<void()> end);
    LogIdWatch(const LogIdWatch&) = delete;
    LogIdWatch& operator=(const LogIdWatch&) = delete;

    /// The log is another one: the process ends, and must be started again. Any thread.
    bool is_another_log() const { return is_another_; }

private:
    void run(const std::stop_token& stop);
    bool has_changed(const std::string& named);

    log::EventLog& log_;
    ops::Health& health_;
    const Options options_;
    const std::function<void()> end_;
    std::atomic<bool> is_another_ = false;
    std::jthread thread_;  ///< last: it uses the others
};

}  // namespace beckon::app
