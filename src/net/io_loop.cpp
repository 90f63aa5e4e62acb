#include "net/io_loop.hpp"

#include "core/contain.hpp"

#include <csignal>
#include <utility>  // Boost 1.74's awaitable.hpp needs it and does not include it

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <pthread.h>

namespace beckon::net {

namespace asio = boost::asio;
using boost::system::error_code;

struct IoLoop::Impl {
    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{asio::make_work_guard(context)};
};

IoLoop::IoLoop() : impl_(std::make_unique<Impl>()) {}

IoLoop::~IoLoop() = default;

void IoLoop::post(Task task) { asio::post(impl_->context, std::move(task)); }

void IoLoop::post_after(core::Duration delay, Task task) {
    // Timers are not thread-safe, so it is made on the loop's own thread.
    post([this, delay, task = std::move(task)]() mutable {
        auto timer = std::make_shared<asio::steady_timer>(impl_->context, delay);
        timer->async_wait([timer, task = std::move(task)](const error_code& error) {
            if (!error) task();
        });
    });
}

void IoLoop::run(const char* name) {
    pthread_setname_np(pthread_self(), name);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    for (;;) {
        if (core::contain(name, [this] { impl_->context.run(); })) return;
    }
}

void IoLoop::stop() { impl_->context.stop(); }

struct Watch::Impl {
    asio::posix::stream_descriptor stream;
};

Watch::Watch(IoLoop& loop, Descriptor descriptor)
    : impl_(new Impl{asio::posix::stream_descriptor{loop.impl_->context, descriptor.get()}}) {
    static_cast<void>(descriptor.release());  // the stream owns it from now on
}

Watch::~Watch() = default;

int Watch::descriptor() const { return impl_->stream.native_handle(); }

void Watch::wait(Event event, std::function<void()> ready) {
    const auto kind = event == Event::readable ? asio::posix::stream_descriptor::wait_read
                                               : asio::posix::stream_descriptor::wait_write;
    impl_->stream.async_wait(kind, [ready = std::move(ready)](const error_code& error) {
        if (!error) ready();
    });
}

void Watch::close() {
    error_code ignored;
    impl_->stream.close(ignored);
}

}  // namespace beckon::net
