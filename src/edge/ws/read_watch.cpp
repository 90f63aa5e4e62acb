#include "edge/ws/read_watch.hpp"

#include <utility>

namespace beckon::edge {

namespace {

constexpr int kBeforeLibrary = 1;  // the library's watchers have priority 0

}  // namespace

ReadWatch::ReadWatch(struct ev_loop* loop, int fd, std::function<void()> readable)
    : loop_(loop), readable_(std::move(readable)) {
    ev_io_init(
        &watcher_,
        [](struct ev_loop*, ev_io* w, int) {
            const auto call = static_cast<ReadWatch*>(w->data)->readable_;  // which may destroy it
            call();
        },
        fd, EV_READ);
    watcher_.data = this;
    ev_set_priority(&watcher_, kBeforeLibrary);
    ev_io_start(loop_, &watcher_);
}

ReadWatch::~ReadWatch() { pause(); }

void ReadWatch::pause() { ev_io_stop(loop_, &watcher_); }
void ReadWatch::resume() { ev_io_start(loop_, &watcher_); }

}  // namespace beckon::edge
