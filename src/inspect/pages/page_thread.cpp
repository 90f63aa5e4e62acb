#include "inspect/pages/page_thread.hpp"

#include "core/contain.hpp"

#include <chrono>
#include <utility>

#include <pthread.h>

namespace beckon::inspect {

namespace {

constexpr auto kUntilStopped = std::chrono::hours{24 * 365};

}  // namespace

PageThread::PageThread(std::string name) : name_(std::move(name)), thread_{[this] { work(); }} {}

PageThread::~PageThread() {
    stopping_ = true;
    tasks_.post([] {});  // wakes it
}

void PageThread::answer(std::function<ops::Page()> make, ops::PageDone done) {
    tasks_.post([this, make = std::move(make), done = std::move(done)] {
        auto page =
            ops::refusal(net::kInternal, "something unforeseen happened: see the process's log");
        core::contain(name_, [&] { page = make(); });
        done(std::move(page));
    });
}

void PageThread::work() {
    pthread_setname_np(pthread_self(), name_.c_str());
    const core::SystemClock clock;
    while (!stopping_) {
        tasks_.wait_until([this] { return stopping_.load(); }, clock.mono() + kUntilStopped);
    }
}

}  // namespace beckon::inspect
