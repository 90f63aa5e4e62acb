#pragma once

#include "core/clock.hpp"
#include "net/io_loop.hpp"

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace beckon::net {

/// A thread that runs an IoLoop.
class LoopThread {
public:
    /// An idle loop turns this often, so that since_last_turn() shows whether a loop has stalled.
    static constexpr core::Duration kTick = std::chrono::seconds{1};

    /// `name`: up to 15 characters.
    LoopThread(std::string name, const core::Clock& clock);
    ~LoopThread() { stop(); }
    LoopThread(const LoopThread&) = delete;
    LoopThread& operator=(const LoopThread&) = delete;

    /// Begins the thread. `body` calls run(), and makes and destroys objects of the thread before
    /// and after; empty: run() alone.
    void start(std::function<void()> body = {});
    /// For `body`: runs the loop until stop().
    void run() { loop_.run(name_.c_str()); }
    void stop();

    IoLoop& loop() { return loop_; }
    /// Runs `task` on the thread and waits until it has returned. Rethrows its exception.
    void run_there(const std::function<void()>& task);

    const std::string& name() const { return name_; }
    /// The time since the loop's last turn, by the second; any thread.
    core::Duration since_last_turn() const { return clock_.mono() - last_turn_.load(); }

private:
    void beat();

    const std::string name_;
    const core::Clock& clock_;
    const core::SystemClock turns_;
    std::atomic<core::MonoTime> last_turn_;
    IoLoop loop_;
    std::thread thread_;
};

}  // namespace beckon::net
