#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace beckon::retry {

/// The loop of the role's thread: tasks, timers that keep the nanosecond, and file descriptors
/// (epoll). Each of the three has its turn, however much of the others there is: descriptors are
/// looked at after every round of tasks, even if these have posted more. post(), post_after() and
/// stop() from any thread; the rest on the thread that runs.
class Loop final : public core::Executor {
public:
    /// Throws std::runtime_error if the kernel has no descriptors left.
    Loop();
    ~Loop() override;
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    void post(Task task) override;
    void post_after(core::Duration delay, Task task) override;

    /// Called with EPOLLIN, EPOLLOUT, EPOLLERR, …
    using Ready = std::function<void(std::uint32_t events)>;
    /// Watches a descriptor, or changes the events of its watch.
    void watch(int fd, std::uint32_t events, Ready ready);
    void unwatch(int fd);

    /// Runs until stop(); later posts are dropped. A task that throws ends alone
    /// (core/contain.hpp).
    void run();
    void stop();
    /// When the loop last came round; for watchdogs, any thread.
    core::MonoTime last_turn() const;

private:
    void run_posted();
    void run_timers();
    void set_timer();
    bool is_task_posted();
    void wait(int timeout_ms);

    core::SystemClock clock_;
    int epoll_ = -1;
    int wake_ = -1;
    int timer_ = -1;
    std::atomic<bool> stopped_ = false;
    std::atomic<core::Duration::rep> last_turn_{};

    std::mutex mutex_;
    std::vector<Task> posted_;                                    ///< under mutex_
    std::vector<std::pair<core::MonoTime, Task>> posted_timers_;  ///< under mutex_
    bool woken_ = false;                                          ///< under mutex_

    std::multimap<core::MonoTime, Task> timers_;
    std::map<int, Ready> watched_;
};

}  // namespace beckon::retry
