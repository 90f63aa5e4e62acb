#pragma once

#include "core/clock.hpp"

#include <functional>

namespace beckon::core {

/// Posts tasks to one thread: a shard's loop, an io_context, a test's queue. A class that calls
/// back later (EventLog, Cluster) posts each call to the executor that its user gave.
class Executor {
public:
    using Task = std::function<void()>;

    virtual ~Executor() = default;

    /// Runs `task` once on the executor's thread, after all tasks posted before. Callable from any
    /// thread. Tasks posted after the executor has stopped are dropped.
    virtual void post(Task task) = 0;

    /// Runs `task` like post(), but after `delay`. It cannot be cancelled: the owner's Lifetime
    /// guards a task that may become stale.
    virtual void post_after(Duration delay, Task task) = 0;
};

}  // namespace beckon::core
