#pragma once

#include "core/executor.hpp"
#include "support/manual_clock.hpp"
#include "support/turn_watch.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

namespace beckon::test {

/// Deterministic: runs nothing by itself. `run()` runs what is due at the clock's time; `run_for()`
/// moves the clock from timer to timer. Single-threaded.
class SimExecutor final : public core::Executor {
public:
    explicit SimExecutor(ManualClock& clock) : clock_(clock) {}

    void post(Task task) override { post_after(core::Duration::zero(), std::move(task)); }
    void post_after(core::Duration delay, Task task) override {
        tasks_.emplace(std::pair{clock_.mono() + delay, next_++}, std::move(task));
    }

    /// Runs one due task; false if none is due.
    bool step() {
        if (tasks_.empty() || tasks_.begin()->first.first > clock_.mono()) return false;
        auto node = tasks_.extract(tasks_.begin());
        const Turn turn;
        node.mapped()();
        return true;
    }
    void run() {
        while (step()) {
        }
    }
    void run_for(core::Duration span) {
        const auto until = clock_.mono() + span;
        run();
        while (!tasks_.empty() && tasks_.begin()->first.first <= until) {
            clock_.advance(tasks_.begin()->first.first - clock_.mono());
            run();
        }
        clock_.advance(until - clock_.mono());
    }
    std::size_t pending() const { return tasks_.size(); }
    /// Drops all pending tasks, as a crash does.
    void forget_all() { tasks_.clear(); }

private:
    ManualClock& clock_;
    std::uint64_t next_ = 0;
    std::map<std::pair<core::MonoTime, std::uint64_t>, Task> tasks_;
};

/// For tests over real adapters: tasks posted by other threads run on the test's own thread while
/// it waits. No sleeping: `wait_until` returns as soon as the condition holds.
class WaitingExecutor final : public core::Executor {
public:
    void post(Task task) override {
        const std::scoped_lock lock{mutex_};
        due_.push_back(std::move(task));
        wake_.notify_one();
    }
    void post_after(core::Duration delay, Task task) override {
        const std::scoped_lock lock{mutex_};
        timers_.emplace(clock_.mono() + delay, std::move(task));
        wake_.notify_one();
    }

    /// Runs tasks until `done()`; false after `limit`.
    bool wait_until(const std::function<bool()>& done,
                    core::Duration limit = std::chrono::seconds{20}) {
        const auto until = clock_.mono() + limit;
        while (!done()) {
            Task task;
            {
                std::unique_lock lock{mutex_};
                while (due_.empty()) {
                    const auto now = clock_.mono();
                    if (now >= until) return false;
                    if (!timers_.empty() && timers_.begin()->first <= now) {
                        due_.push_back(std::move(timers_.begin()->second));
                        timers_.erase(timers_.begin());
                        break;
                    }
                    auto wait = until - now;
                    if (!timers_.empty()) wait = std::min(wait, timers_.begin()->first - now);
                    wake_.wait_for(lock, wait);
                }
                if (due_.empty()) return false;
                task = std::move(due_.front());
                due_.pop_front();
            }
            const Turn turn;
            task();
        }
        return true;
    }
    /// As wait_until(), and looks again and again, for what other threads change without a task.
    bool eventually(const std::function<bool()>& done) {
        return wait_until([&] {
            post_after(std::chrono::milliseconds{1}, [] {});
            return done();
        });
    }

private:
    core::SystemClock clock_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Task> due_;
    std::multimap<core::MonoTime, Task> timers_;
};

}  // namespace beckon::test
