#include "ingest/io_loop.hpp"

#include <csignal>
#include <memory>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <pthread.h>

namespace beckon::ingest {

IoLoop::IoLoop() : work_(boost::asio::make_work_guard(context_)) {}

void IoLoop::post(Task task) { boost::asio::post(context_, std::move(task)); }

void IoLoop::post_after(core::Duration delay, Task task) {
    // Timers are not thread-safe, so it is made on the loop's own thread.
    post([this, delay, task = std::move(task)]() mutable {
        auto timer = std::make_shared<boost::asio::steady_timer>(context_, delay);
        timer->async_wait([timer, task = std::move(task)](const auto& error) {
            if (!error) task();
        });
    });
}

void IoLoop::run(const char* name) {
    pthread_setname_np(pthread_self(), name);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    context_.run();
}

void IoLoop::stop() { context_.stop(); }

}  // namespace beckon::ingest
