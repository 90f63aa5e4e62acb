#pragma once

#include <cstddef>
#include <functional>

#include <ev.h>

namespace beckon::edge {

/// Calls `readable` when a socket that libwebsockets serves has bytes, before the library is
/// called: its own watcher has the lower priority. On the loop's thread.
class HeadWatch {
public:
    HeadWatch(struct ev_loop* loop, int fd, std::function<void()> readable);
    ~HeadWatch();
    HeadWatch(const HeadWatch&) = delete;
    HeadWatch& operator=(const HeadWatch&) = delete;

    std::size_t seen =
        0;  ///< bytes there were at the last call; 0: the library was called each time so far

private:
    struct ev_loop* loop_;
    ev_io watcher_{};
    std::function<void()> readable_;
};

}  // namespace beckon::edge
