#pragma once

#include "core/executor.hpp"

#include <future>
#include <memory>
#include <utility>

namespace beckon::retry {

/// An object that lives on the thread of another executor: it is made, used and destroyed there.
/// A holder of the handle posts to it from any thread; tasks before its construction or after its
/// end are dropped. The executor outlives the object.
template <class T>
class Hosted {
public:
    explicit Hosted(core::Executor& there) : state_(std::make_shared<State>(there)) {}

    /// `make` returns a std::unique_ptr<T>.
    template <class Make>
    void begin(Make make) const {
        state_->there.post([state = state_, make = std::move(make)] { state->object = make(); });
    }
    template <class F>
    void use(F f) const {
        state_->there.post([state = state_, f = std::move(f)]() mutable {
            if (state->object) f(*state->object);
        });
    }

    /// On the executor's thread: destroys it now.
    void end_here() const { state_->object.reset(); }
    /// On another thread, while that one runs: returns when it is destroyed.
    void end() const {
        std::promise<void> ended;
        state_->there.post([&] {
            state_->object.reset();
            ended.set_value();
        });
        ended.get_future().wait();
    }

private:
    struct State {
        explicit State(core::Executor& e) : there(e) {}
        core::Executor& there;
        std::unique_ptr<T> object;  ///< of that thread
    };
    std::shared_ptr<State> state_;
};

}  // namespace beckon::retry
