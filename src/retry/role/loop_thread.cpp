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

}  // namespace beckon::retry
