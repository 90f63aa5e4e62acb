#pragma once

#include <cstdint>

namespace beckon::bench {

/// Nanoseconds of CLOCK_MONOTONIC.
using Nanos = std::int64_t;
inline constexpr Nanos kMillisecond = 1'000'000;
inline constexpr Nanos kSecond = 1'000 * kMillisecond;
inline double ms(Nanos span) {
    return static_cast<double>(span) / static_cast<double>(kMillisecond);
}
Nanos mono_now();

/// Is notified about a descriptor.
class Watcher {
public:
    /// `events` as of epoll. It may be stale: the descriptor may have been replaced meanwhile.
    virtual void on_event(std::uint32_t events) = 0;

protected:
    ~Watcher() = default;
};

/// An edge-triggered epoll: a descriptor is added once, for both directions, and leaves when it is
/// closed, so steady work costs no epoll_ctl. One thread.
class Loop {
public:
    /// Throws std::runtime_error if there is no epoll.
    Loop();
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    /// False if the kernel refuses (errno). The watcher must live until `fd` is closed and the
    /// running `run_once` has returned.
    bool add(int fd, Watcher& watcher);

    /// Handles what is ready; waits for it until `deadline` at most, to within a few microseconds.
    void run_once(Nanos deadline);

private:
    int epoll_ = -1;
};

}  // namespace beckon::bench
