#include "bench/load/loop.hpp"

#include <array>
#include <ctime>
#include <stdexcept>

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace beckon::bench {

namespace {

constexpr int kEventsMax = 512;

}  // namespace

Nanos mono_now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * kSecond + time.tv_nsec;
}

Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (epoll_ < 0) throw std::runtime_error("cannot make an epoll instance");
    // The default of 50 us would make every POST of an open loop that late.
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

Loop::~Loop() { ::close(epoll_); }

bool Loop::add(int fd, Watcher& watcher) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    event.data.ptr = &watcher;
    return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void Loop::run_once(Nanos deadline) {
    const Nanos wait = deadline - mono_now();
    timespec timeout{};
    if (wait > 0) timeout = {.tv_sec = wait / kSecond, .tv_nsec = wait % kSecond};
    std::array<epoll_event, kEventsMax> events;
    const int count = epoll_pwait2(epoll_, events.data(), kEventsMax, &timeout, nullptr);
    for (int i = 0; i < count; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        static_cast<Watcher*>(event.data.ptr)->on_event(event.events);
    }
}

}  // namespace beckon::bench
