#pragma once

#include "core/executor.hpp"

#include <functional>
#include <string>

namespace beckon::edge {

/// The loop of a shard, as its fronts, homes and switchboard use it: tasks, and a hook at the end
/// of each turn. A ShardLoop turns on a thread of its own; a simulation turns many loops on one
/// thread.
class Loop : public core::Executor {
public:
    /// Runs at the end of every turn, before the loop waits: flushes the work collected during the
    /// turn. Returns true if there is more to do, so that the loop polls without waiting. On the
    /// loop's own thread, or before it runs.
    virtual void at_turn_end(std::function<bool()> hook) = 0;

    virtual const std::string& name() const = 0;
};

}  // namespace beckon::edge
