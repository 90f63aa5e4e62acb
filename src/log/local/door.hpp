#pragma once

#include "core/executor.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace beckon::log {

/// The way to the executor of somebody who may leave at any time. What is posted through a door
/// runs only while its owner has not shut it; after shut() returns nothing runs any more and the
/// executor is not touched, so both may be destroyed.
///
/// post() from any thread; shut() on the executor's thread only, since that is what makes "is it
/// still open?" and running the task one step.
class Door : public std::enable_shared_from_this<Door> {
public:
    explicit Door(core::Executor& executor) : executor_(&executor) {}

    void post(core::Executor::Task task) {
        const std::scoped_lock lock{mutex_};
        if (executor_) executor_->post(guard(std::move(task)));
    }
    void post_after(core::Duration delay, core::Executor::Task task) {
        const std::scoped_lock lock{mutex_};
        if (executor_) executor_->post_after(delay, guard(std::move(task)));
    }
    void shut() {
        const std::scoped_lock lock{mutex_};
        executor_ = nullptr;
    }

private:
    core::Executor::Task guard(core::Executor::Task task) {
        return [self = shared_from_this(), task = std::move(task)] {
            if (self->is_open()) task();
        };
    }
    bool is_open() {
        const std::scoped_lock lock{mutex_};
        return executor_ != nullptr;
    }

    std::mutex mutex_;
    core::Executor* executor_;
};

}  // namespace beckon::log
