#include "retry/role/loop_thread.hpp"

#include <utility>

#include <pthread.h>

namespace beckon::retry {

void LoopThread::start(std::function<void()> body) {
    thread_ = std::thread{[this, body = std::move(body)] {
        pthread_setname_np(pthread_self(), name_.c_str());
        beat();
        body();
    }};
}

void LoopThread::stop() {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
}

void LoopThread::beat() {
    loop_.post_after(kTick, [this] { beat(); });
}

std::string why_stalled(const LoopThread& thread, ops::Health& health) {
    const auto stalled = thread.since_last_turn();
    const auto what = "the loop " + thread.name();
    health.set_dead("retry: " + what, stalled > kDeadAfter ? what + " hangs" : "");
    if (stalled < kStalledAfter) return "";
    return what + " has been stalled for " +
           std::to_string(std::chrono::floor<std::chrono::seconds>(stalled).count()) + " s";
}

}  // namespace beckon::retry
