#include "net/io_loop.hpp"

#include "core/clock.hpp"
#include "core/contain.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <future>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <utility>  // Boost 1.74's awaitable.hpp needs it and does not include it

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace beckon::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

int boot_timer() {
    const int fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (fd < 0) throw std::runtime_error(std::string{"timerfd_create: "} + std::strerror(errno));
    return fd;
}

}  // namespace

struct IoLoop::Impl {
    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> work{asio::make_work_guard(context)};
    /// Wakes the loop for the first of the timers. Asio's own timers stand still while the host is
    /// suspended.
    asio::posix::stream_descriptor timer{context, boot_timer()};
    const core::SystemClock clock{};
    std::multimap<core::MonoTime, Task> timers;  ///< of the loop's thread, or before it runs
    const char* name = "loop";
    bool measured = false;  ///< its turns are
    /// Of the loop's thread: the first moment of a turn, and the thread's time until then.
    core::MonoTime began{};
    core::Duration had{};
    std::atomic<core::Duration> longest_turn{};

    void wait();
    void set_timer();
    void run_timers();
    void run();
    void turned();
};

void IoLoop::Impl::wait() {
    timer.async_wait(asio::posix::stream_descriptor::wait_read, [this](const error_code& error) {
        if (error) return;
        std::uint64_t ignored = 0;
        static_cast<void>(!::read(timer.native_handle(), &ignored, sizeof ignored));
        run_timers();
        set_timer();
        wait();
    });
}

void IoLoop::Impl::set_timer() {
    itimerspec when{};
    if (!timers.empty()) {
        const auto at = timers.begin()->first.time_since_epoch();
        const auto whole = std::chrono::floor<std::chrono::seconds>(at);
        when.it_value = {whole.count(), (at - whole).count()};
    }
    ::timerfd_settime(timer.native_handle(), TFD_TIMER_ABSTIME, &when, nullptr);
}

/// Runs the timers that are due now. A timer that one of them sets waits for the next turn.
void IoLoop::Impl::run_timers() {
    const auto now = clock.mono();
    while (!timers.empty() && timers.begin()->first <= now && !context.stopped()) {
        const auto due = timers.extract(timers.begin());
        core::contain(name, due.mapped());
    }
}

void IoLoop::Impl::run() {
    if (!measured) {
        context.run();
        return;
    }
    while (context.run_one() > 0) turned();
}

/// Between two tasks. A turn is one task, or tasks of kShortTurn together: the kernel is not asked
/// for the thread's time at each.
void IoLoop::Impl::turned() {
    const auto now = clock.mono();
    if (now - began < kShortTurn) return;
    const auto has = core::thread_time();
    if (has - had > longest_turn.load(std::memory_order_relaxed)) longest_turn = has - had;
    began = now;
    had = has;
}

IoLoop::IoLoop() : impl_(std::make_unique<Impl>()) { impl_->wait(); }

IoLoop::~IoLoop() = default;

void IoLoop::post(Task task) { asio::post(impl_->context, std::move(task)); }

void IoLoop::post_after(core::Duration delay, Task task) {
    if (delay <= core::Duration::zero()) return post(std::move(task));
    post([this, at = impl_->clock.mono() + delay, task = std::move(task)]() mutable {
        const auto set = impl_->timers.emplace(at, std::move(task));
        if (set == impl_->timers.begin()) impl_->set_timer();
    });
}

void IoLoop::run(const char* name) {
    pthread_setname_np(pthread_self(), name);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    impl_->name = name;
    impl_->had = core::thread_time();
    for (;;) {
        if (core::contain(name, [this] { impl_->run(); })) return;
    }
}

void IoLoop::measure_turns() { impl_->measured = true; }

core::Duration IoLoop::take_longest_turn() { return impl_->longest_turn.exchange({}); }

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

Descriptor Watch::release() {
    return Descriptor{impl_->stream.is_open() ? impl_->stream.release() : -1};
}

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
