#include "edge/loop/shard_loop.hpp"

#include "core/assert.hpp"
#include "core/contain.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <list>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <ev.h>
#include <pthread.h>

namespace beckon::edge {

namespace {

/// A healthy loop turns at least this often, even with nothing to do (watchdog).
constexpr core::Duration kHeartbeat = std::chrono::milliseconds{500};

/// A delayed task, in the loop's list until it fires or the loop ends.
struct DelayedTask : WheelTimer {
    using WheelTimer::WheelTimer;
    core::Executor::Task task;
    std::list<DelayedTask>* all = nullptr;
    std::list<DelayedTask>::iterator place;
};

}  // namespace

struct ShardLoop::Impl {
    Impl(std::string n, const core::Clock& c) : name(std::move(n)), clock(c), wheel(c.mono()) {
        loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
        if (!loop) throw std::runtime_error("cannot make an event loop for " + name);
        turned = clock.mono().time_since_epoch().count();

        ev_async_init(&wake, [](struct ev_loop*, ev_async* w, int) {
            static_cast<Impl*>(w->data)->take_mail();
        });
        ev_prepare_init(&turn_end, [](struct ev_loop*, ev_prepare* w, int) {
            static_cast<Impl*>(w->data)->end_turn();
        });
        ev_check_init(&turn_begin, [](struct ev_loop*, ev_check* w, int) {
            auto& self = *static_cast<Impl*>(w->data);
            self.turned.store(self.clock.mono().time_since_epoch().count(),
                              std::memory_order_relaxed);
        });
        ev_timer_init(
            &tick,
            [](struct ev_loop*, ev_timer* w, int) {
                auto& self = *static_cast<Impl*>(w->data);
                self.armed_for = core::MonoTime::max();  // one-shot: libev has stopped it
                self.wheel.advance(self.clock.mono());
            },
            0., 0.);
        ev_idle_init(&more, [](struct ev_loop*, ev_idle*, int) {});
        wake.data = turn_end.data = turn_begin.data = tick.data = this;
        ev_async_start(loop, &wake);
        ev_prepare_start(loop, &turn_end);
        ev_check_start(loop, &turn_begin);
        wheel.schedule(heart, clock.mono() + kHeartbeat);
    }

    ~Impl() { ev_loop_destroy(loop); }

    void take_mail() {
        {
            const std::scoped_lock lock{mutex};
            std::swap(mail, taken);
        }
        for (auto& task : taken) {
            core::contain(name, task);
            task = nullptr;
        }
        taken.clear();
    }

    /// Tasks that the thread posts to itself: no lock, no wake-up. Runs the tasks that were queued
    /// at the start of the round; tasks that they post wait for the next turn, so that sockets get
    /// theirs.
    bool run_own() {
        std::swap(own, running);
        for (auto& task : running) {
            core::contain(name, task);
            task = nullptr;
        }
        running.clear();
        return !own.empty();
    }

    void end_turn() {
        bool again = run_own();
        for (const auto& hook : hooks) {
            core::contain(name, [&] { again |= hook(); });
        }
        again |= !own.empty();
        if (again != static_cast<bool>(ev_is_active(&more))) {
            again ? ev_idle_start(loop, &more) : ev_idle_stop(loop, &more);
        }
        arm_tick();
    }

    /// One libev timer stands for all of the wheel's.
    void arm_tick() {
        const auto next = wheel.next_wake();
        const auto due = next ? *next : core::MonoTime::max();
        if (due == armed_for) return;
        ev_timer_stop(loop, &tick);
        armed_for = due;
        if (!next) return;
        ev_now_update(loop);  // libev's idea of now is that of the turn's begin
        const double seconds = std::chrono::duration<double>(due - clock.mono()).count();
        ev_timer_set(&tick, std::max(seconds, 0.0) + 0.0001, 0.);
        ev_timer_start(loop, &tick);
    }

    void delay(core::Duration by, Task task) {
        auto& timer = delayed.emplace_front([](WheelTimer& t) {
            auto& self = static_cast<DelayedTask&>(t);
            std::list<DelayedTask> fired;
            fired.splice(fired.begin(), *self.all, self.place);
            self.task();
        });
        timer.task = std::move(task);
        timer.all = &delayed;
        timer.place = delayed.begin();
        wheel.schedule(timer, clock.mono() + by);
    }

    /// Tasks that are left at the end are destroyed on the thread that owns their captures.
    /// Destroying a task may post another one, which is dropped too.
    void drop_tasks() {
        for (;;) {
            std::vector<Task> left;
            {
                const std::scoped_lock lock{mutex};
                closed = true;
                left.swap(mail);
            }
            for (auto& task : own) left.push_back(std::move(task));
            own.clear();
            const auto late = std::exchange(delayed, {});
            if (left.empty() && late.empty()) return;
        }
    }

    void run() {
        current = this;
        pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
        ev_run(loop, 0);
        if (last) last();
        last = nullptr;
        drop_tasks();
        hooks.clear();
        current = nullptr;
    }

    static thread_local Impl* current;

    struct Heart : WheelTimer {
        explicit Heart(Impl& s)
            : WheelTimer([](WheelTimer& t) {
                  auto& loop_of = static_cast<Heart&>(t).self;
                  loop_of.wheel.schedule(t, loop_of.clock.mono() + kHeartbeat);
              }),
              self(s) {}
        Impl& self;
    };

    const std::string name;
    const core::Clock& clock;
    struct ev_loop* loop = nullptr;
    ev_async wake{};
    ev_prepare turn_end{};
    ev_check turn_begin{};
    ev_timer tick{};
    ev_idle more{};  ///< active while a turn's end left work: libev then does not wait

    // owned by the loop's thread
    TimingWheel wheel;
    Heart heart{*this};
    core::MonoTime armed_for = core::MonoTime::max();
    std::list<DelayedTask> delayed;
    std::vector<Task> taken;
    std::vector<Task> own;
    std::vector<Task> running;
    std::vector<std::function<bool()>> hooks;
    Task last;

    // under mutex
    std::mutex mutex;
    std::vector<Task> mail;
    bool closed = false;

    std::atomic<std::int64_t> turned{0};
    std::thread thread;
};

thread_local ShardLoop::Impl* ShardLoop::Impl::current = nullptr;

ShardLoop::ShardLoop(std::string name, const core::Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(name), clock)) {}

ShardLoop::~ShardLoop() {
    BECKON_ASSERT(!impl_->thread.joinable(), "a loop is stopped before it is destroyed");
    impl_->drop_tasks();
}

void ShardLoop::start() {
    impl_->thread = std::thread{[this] { impl_->run(); }};
}

void ShardLoop::stop(Task last) {
    if (!impl_->thread.joinable()) {
        if (last) last();
        return;
    }
    post([this, after = std::move(last)]() mutable {
        impl_->last = std::move(after);
        ev_break(impl_->loop, EVBREAK_ALL);
    });
    impl_->thread.join();
}

void ShardLoop::post(Task task) {
    if (in_loop()) {
        impl_->own.push_back(std::move(task));
        return;
    }
    bool first = false;
    {
        const std::scoped_lock lock{impl_->mutex};
        if (impl_->closed) return;
        first = impl_->mail.empty();
        impl_->mail.push_back(std::move(task));
    }
    if (first) ev_async_send(impl_->loop, &impl_->wake);
}

void ShardLoop::post_after(core::Duration delay, Task task) {
    if (in_loop()) {
        impl_->delay(delay, std::move(task));
        return;
    }
    post([impl = impl_.get(), delay, task = std::move(task)]() mutable {
        impl->delay(delay, std::move(task));
    });
}

void ShardLoop::run_and_wait(const Task& task) {
    if (!impl_->thread.joinable()) {
        task();
        return;
    }
    auto packaged = std::make_shared<std::packaged_task<void()>>(task);
    auto done = packaged->get_future();
    post([packaged = std::move(packaged)] { (*packaged)(); });
    done.get();
}

void ShardLoop::at_turn_end(std::function<bool()> hook) { impl_->hooks.push_back(std::move(hook)); }

core::MonoTime ShardLoop::now() const { return impl_->clock.mono(); }
TimingWheel& ShardLoop::wheel() { return impl_->wheel; }
void ShardLoop::schedule(WheelTimer& timer, core::Duration delay) {
    impl_->wheel.schedule(timer, impl_->clock.mono() + delay);
}
struct ev_loop* ShardLoop::native() const {
    return impl_->loop;
}
core::MonoTime ShardLoop::last_turn() const {
    return core::MonoTime{core::Duration{impl_->turned.load(std::memory_order_relaxed)}};
}
bool ShardLoop::in_loop() const { return Impl::current == impl_.get(); }
const std::string& ShardLoop::name() const { return impl_->name; }

}  // namespace beckon::edge
