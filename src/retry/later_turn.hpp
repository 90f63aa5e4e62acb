#pragma once

#include "core/executor.hpp"
#include "core/lifetime.hpp"

#include <functional>
#include <utility>

namespace beckon::retry {

/// A task in a later turn of the executor's thread, so that the thread has its others first: one
/// turn, however often it is asked for until then. The task may destroy this. On the executor's
/// thread.
class LaterTurn {
public:
    LaterTurn(core::Executor& executor, std::function<void()> task)
        : executor_(executor), task_(std::move(task)), lifetime_(executor) {}

    void ask(core::Duration delay = {}) {
        if (asked_) return;
        core::Executor::Task turn = lifetime_.guard([this] {
            asked_ = false;
            const auto task = task_;
            task();
        });
        delay > core::Duration::zero() ? executor_.post_after(delay, std::move(turn))
                                       : executor_.post(std::move(turn));
        asked_ = true;
    }
    bool is_asked() const { return asked_; }

private:
    core::Executor& executor_;
    const std::function<void()> task_;
    bool asked_ = false;
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
