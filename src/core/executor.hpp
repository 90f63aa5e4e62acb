#pragma once

#include "core/clock.hpp"

#include <functional>

namespace beckon::core {

/// Posts tasks to one thread: a shard's loop, an io_context, a test's queue. Whoever calls
/// back later (EventLog, Cluster) does so only through the executor that its user gave.
class Executor {
public:
    using Task = std::function<void()>;

    virtual ~Executor() = default;

    /// Runs `task` once on the executor's thread, after what was posted before. Callable from any
    /// thread. Tasks posted after the executor has stopped are dropped.
    virtual void post(Task task) = 0;

    /// The same after `delay`. There is no cancelling: a task that may have become stale is
    /// guarded by the Lifetime of its owner.
    virtual void post_after(Duration delay, Task task) = 0;
};

}  // namespace beckon::core
