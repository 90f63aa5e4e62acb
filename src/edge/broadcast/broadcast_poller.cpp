#include "edge/broadcast/broadcast_poller.hpp"

#include "edge/broadcast/broadcast_page.hpp"

#include <utility>

#include <pthread.h>

namespace beckon::edge {

BroadcastPoller::BroadcastPoller(Options options, Polled polled)
    : options_(std::move(options)),
      polled_(std::move(polled)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void BroadcastPoller::enable(bool enabled) {
    const std::scoped_lock lock{mutex_};
    if (enabled_ == enabled) return;
    enabled_ = enabled;
    changed_.notify_all();
}

void BroadcastPoller::run(const std::stop_token& stop) {
    pthread_setname_np(pthread_self(), "edge-broadcasts");
    for (;;) {
        {
            std::unique_lock lock{mutex_};
            if (!changed_.wait(lock, stop, [this] { return enabled_; })) return;
        }
        const auto body = fetch_page(options_.url, stop);
        if (stop.stop_requested()) return;
        if (body) {
            polled_(parse_broadcasts(*body));
        } else {
            polled_(core::fail(body.error()));
        }
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, stop, options_.interval, [this] { return !enabled_; });
        if (stop.stop_requested()) return;
    }
}

}  // namespace beckon::edge
