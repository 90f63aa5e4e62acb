#pragma once

#include <cstddef>
#include <functional>

#include <ev.h>

namespace beckon::edge {

/// Calls `readable` when a socket that libwebsockets serves has bytes, before the library is
/// called: its own watcher has the lower priority. On the loop's thread.
class ReadWatch {
public:
    ReadWatch(struct ev_loop* loop, int fd, std::function<void()> readable);
    ~ReadWatch();
    ReadWatch(const ReadWatch&) = delete;
    ReadWatch& operator=(const ReadWatch&) = delete;

    /// No calls until resume(): for a socket that is not to be read for now.
    void pause();
    void resume();

    std::size_t seen =
        0;  ///< bytes there were at the last call; 0: the library was called each time so far

private:
    struct ev_loop* loop_;
    ev_io watcher_{};
    std::function<void()> readable_;
};

}  // namespace beckon::edge
