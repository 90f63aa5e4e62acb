#include "retry/loop/loop.hpp"

#include "core/contain.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace beckon::retry {

using core::MonoTime;

namespace {

/// Descriptors of one round; then posted tasks have their turn. Each may be an answer to parse.
constexpr int kEventsMax = 16;
constexpr std::string_view kLoopName = "retry";  ///< where failures are counted

int checked(int fd, const char* what) {
    if (fd < 0) throw std::runtime_error(std::string{what} + ": " + std::strerror(errno));
    return fd;
}

void add(int epoll, int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    checked(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

void clear(int fd) {
    eventfd_t ignored{};
    eventfd_read(fd, &ignored);  // a timerfd is read like an eventfd
}

}  // namespace

Loop::Loop() {
    epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    wake_ = checked(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd");
    timer_ = checked(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd_create");
    add(epoll_, wake_);
    add(epoll_, timer_);
    last_turn_ = clock_.mono().time_since_epoch().count();
}

Loop::~Loop() {
    for (const int fd : {timer_, wake_, epoll_}) {
        if (fd >= 0) ::close(fd);
    }
}

void Loop::post(Task task) {
    const std::scoped_lock lock{mutex_};
    posted_.push_back(std::move(task));
    if (std::exchange(woken_, true)) return;
    eventfd_write(wake_, 1);
}

void Loop::post_after(core::Duration delay, Task task) {
    if (delay <= core::Duration::zero()) return post(std::move(task));
    const std::scoped_lock lock{mutex_};
    posted_timers_.emplace_back(clock_.mono() + delay, std::move(task));
    if (std::exchange(woken_, true)) return;
    eventfd_write(wake_, 1);
}

void Loop::watch(int fd, std::uint32_t events, Ready ready) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    const bool known = watched_.contains(fd);
    watched_[fd] = std::move(ready);
    if (epoll_ctl(epoll_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0) return;
    // The descriptor was closed and its number is used again, or the other way round.
    epoll_ctl(epoll_, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
}

void Loop::unwatch(int fd) {
    if (watched_.erase(fd) > 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

void Loop::run_posted() {
    std::vector<Task> tasks;
    {
        const std::scoped_lock lock{mutex_};
        woken_ = false;
        tasks.swap(posted_);
        for (auto& [at, task] : posted_timers_) timers_.emplace(at, std::move(task));
        posted_timers_.clear();
    }
    for (auto& task : tasks) {
        if (stopped_) return;
        core::contain(kLoopName, task);
    }
}

void Loop::run_timers() {
    const auto now = clock_.mono();
    while (!timers_.empty() && timers_.begin()->first <= now && !stopped_) {
        const auto task = std::move(timers_.begin()->second);
        timers_.erase(timers_.begin());
        core::contain(kLoopName, task);
    }
}

void Loop::set_timer() {
    itimerspec when{};
    if (!timers_.empty()) {
        const auto at = timers_.begin()->first.time_since_epoch();
        const auto whole = std::chrono::duration_cast<std::chrono::seconds>(at);
        when.it_value = {whole.count(), (at - whole).count()};
    }
    timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
}

void Loop::wait(int timeout_ms) {
    std::array<epoll_event, kEventsMax> events;
    const int count = epoll_wait(epoll_, events.data(), kEventsMax, timeout_ms);
    last_turn_ = clock_.mono().time_since_epoch().count();
    for (int i = 0; i < count && !stopped_; ++i) {
        const int fd = events[static_cast<std::size_t>(i)].data.fd;
        if (fd == wake_ || fd == timer_) {
            clear(fd);
            continue;
        }
        const auto found = watched_.find(fd);
        if (found == watched_.end()) continue;  // one before it in this round has ended it
        const auto ready = found->second;       // it may be replaced meanwhile
        core::contain(kLoopName, [&] { ready(events[static_cast<std::size_t>(i)].events); });
    }
}

void Loop::run() {
    while (!stopped_) {
        run_posted();
        run_timers();
        if (stopped_) return;
        if (is_task_posted()) {
            wait(0);
            continue;
        }
        set_timer();
        wait(-1);
    }
}

bool Loop::is_task_posted() {
    const std::scoped_lock lock{mutex_};
    return !posted_.empty();
}

void Loop::stop() {
    stopped_ = true;
    eventfd_write(wake_, 1);
}

MonoTime Loop::last_turn() const { return MonoTime{core::Duration{last_turn_.load()}}; }

}  // namespace beckon::retry
