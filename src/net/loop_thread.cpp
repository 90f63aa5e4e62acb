#include "net/loop_thread.hpp"

#include <future>
#include <utility>

namespace beckon::net {

LoopThread::LoopThread(std::string name, const core::Clock& clock)
    : name_(std::move(name)), clock_(clock), last_turn_(turns_.mono()) {}

void LoopThread::start(std::function<void()> body) {
    thread_ = std::thread{[this, body = std::move(body)] {
        beat();
        body ? body() : run();
    }};
}

void LoopThread::stop() {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
}

void LoopThread::run_there(const std::function<void()>& task) {
    std::packaged_task<void()> packaged{task};
    auto done = packaged.get_future();
    loop_.post([&packaged] { packaged(); });
    done.get();
}

void LoopThread::beat() {
    last_turn_ = turns_.mono();
    loop_.post_after(kTick, [this] { beat(); });
}

}  // namespace beckon::net
