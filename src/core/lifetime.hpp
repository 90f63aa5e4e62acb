#pragma once

#include "core/executor.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace beckon::core {

/// The one answer to "the caller may be gone": an object that has given callbacks away (to a log, a
/// timer, another thread) owns a Lifetime, and its callbacks run only while that lasts.
///
/// It is the one idiom for that: no object hands out weak pointers to itself, and std::shared_ptr
/// is for what has several owners, such as the buffers of a request that a library still works on,
/// or a connection that is in its set, with its handler, and in an event of its socket.
///
/// Made, used and ended on one thread, that of the executor; guarded callbacks may be dropped on
/// any thread, but are called on that one. Only a Remote and Term::over() may be used from other
/// threads. An object whose callbacks may destroy it asks its term() after each call of one.
class Lifetime {
    struct State;

public:
    explicit Lifetime(Executor& executor) : state_(std::make_shared<State>(&executor)) {}
    /// For an object that has no executor: its Remotes drop all callbacks.
    Lifetime() : state_(std::make_shared<State>(nullptr)) {}
    ~Lifetime() { end(); }
    Lifetime(const Lifetime&) = delete;
    Lifetime& operator=(const Lifetime&) = delete;

    /// `f`, which returns nothing, as a callable that does nothing once this lifetime has ended or
    /// was renewed.
    template <class F>
    auto guard(F f) const {
        return [term = term(), f = std::move(f)](auto&&... args) mutable {
            if (!term.over()) f(std::forward<decltype(args)>(args)...);
        };
    }

    /// The time until the next renew() or end(). For loops that call out and may find, when the
    /// call returns, that their object is no longer there.
    class Term {
    public:
        /// Any thread.
        bool over() const { return state_->renewals != of_; }

    private:
        friend class Lifetime;
        explicit Term(std::shared_ptr<const State> state)
            : state_(std::move(state)), of_(state_->renewals) {}
        std::shared_ptr<const State> state_;
        std::uint64_t of_;
    };
    Term term() const { return Term{state_}; }

    /// Makes all earlier guarded callbacks stale: the object starts anew.
    void renew() { ++state_->renewals; }

    /// Nothing guarded and nothing posted through a Remote runs any more, and when this returns no
    /// Remote touches the executor again. Idempotent; the destructor calls it.
    void end() {
        ++state_->renewals;
        const std::scoped_lock lock{state_->mutex};
        state_->executor = nullptr;
    }

    /// The way in for other threads; may outlive the Lifetime and its executor. Once the lifetime
    /// has ended, its posts are dropped (renewing the lifetime does not drop them).
    class Remote {
    public:
        /// Any thread.
        void post(Executor::Task task) const { post_after(Duration::zero(), std::move(task)); }
        void post_after(Duration delay, Executor::Task task) const {
            const std::scoped_lock lock{state_->mutex};
            if (!state_->executor) return;
            auto unless_ended = [state = state_, task = std::move(task)] {
                if (!state->ended()) task();
            };
            if (delay == Duration::zero()) {
                state_->executor->post(std::move(unless_ended));
            } else {
                state_->executor->post_after(delay, std::move(unless_ended));
            }
        }

    private:
        friend class Lifetime;
        explicit Remote(std::shared_ptr<State> state) : state_(std::move(state)) {}
        std::shared_ptr<State> state_;
    };
    Remote remote() const { return Remote{state_}; }

private:
    struct State {
        explicit State(Executor* e) : executor(e) {}
        /// Call it on the executor's thread, which alone changes `executor`. It takes no lock: a
        /// task that runs at once runs while its poster still holds the lock.
        bool ended() const { return executor == nullptr; }

        std::atomic<std::uint64_t> renewals = 0;  ///< changed on the executor's thread alone
        std::mutex mutex;    ///< guards `executor`; held while a task is posted
        Executor* executor;  ///< null: ended
    };

    std::shared_ptr<State> state_;
};

/// An executor to give with a query whose answer may come after the asker's own executor is gone
/// (a broker that does not answer while the process stops): posts that come then are dropped. The
/// callback of the query owns it, so it lasts until the last post.
class LastingExecutor final : public Executor {
public:
    explicit LastingExecutor(Lifetime::Remote owner) : owner_(std::move(owner)) {}

    void post(Task task) override {
        const auto owner = owner_;  // dropping the task may destroy this
        owner.post(std::move(task));
    }
    void post_after(Duration delay, Task task) override {
        const auto owner = owner_;
        owner.post_after(delay, std::move(task));
    }

private:
    const Lifetime::Remote owner_;
};

/// Calls `ask(executor, callback)`, where both outlast the asker and the callback runs `answer` on
/// the asker's executor while `lifetime` lasts.
template <class Ask, class Answer>
void ask_while(const Lifetime& lifetime, Ask ask, Answer answer) {
    const auto executor = std::make_shared<LastingExecutor>(lifetime.remote());
    ask(*executor, [executor, guarded = lifetime.guard(std::move(answer))](
                       const auto& result) mutable { guarded(result); });
}

}  // namespace beckon::core
