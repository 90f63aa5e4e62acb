#pragma once

#include "core/clock.hpp"
#include "retry/loop/loop.hpp"

#include <functional>
#include <string>
#include <thread>

namespace beckon::retry {

/// A thread with a loop. Its objects are made before the loop runs and destroyed after it.
class LoopThread {
public:
    /// An idle loop turns this often, so that a stalled one differs from it.
    static constexpr core::Duration kTick = std::chrono::seconds{1};

    LoopThread(std::string name, const core::Clock& clock)
        : name_(std::move(name)), clock_(clock) {}
    ~LoopThread() { stop(); }
    LoopThread(const LoopThread&) = delete;
    LoopThread& operator=(const LoopThread&) = delete;

    /// `body` runs the loop.
    void start(std::function<void()> body);
    void stop();
    Loop& loop() { return loop_; }
    const std::string& name() const { return name_; }
    /// The time since the loop's last turn; any thread.
    core::Duration since_last_turn() const { return clock_.mono() - loop_.last_turn(); }

private:
    void beat();

    const std::string name_;
    const core::Clock& clock_;
    Loop loop_;
    std::thread thread_;
};

}  // namespace beckon::retry
