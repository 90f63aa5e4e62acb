#pragma once

#include "edge/loop/loop.hpp"
#include "edge/loop/timing_wheel.hpp"

#include <functional>
#include <memory>
#include <string>

struct ev_loop;

namespace beckon::edge {

/// A thread with one libev loop: the executor of everything that lives on a shard. Timers go
/// through a timing wheel of our own (docs/facts/libwebsockets.md#time-outs: those of lws do not
/// work here).
///
/// Life: construct → add sockets and hooks → start() → … → stop(). Calls without another word are
/// for the loop's own thread, or for any thread before start() and after stop().
class ShardLoop final : public Loop {
public:
    /// `name`: of the thread, at most 15 characters. `clock` must follow the host's time.
    ShardLoop(std::string name, const core::Clock& clock);
    /// Must have been stopped.
    ~ShardLoop() override;

    void start();

    /// Ends the loop after the tasks posted before, runs `last` on the thread after the loop has
    /// ended (lws wants to be destroyed there), drops tasks and timers that are left (on the
    /// thread), and joins. Any other thread; once.
    void stop(Task last = {});

    /// Any thread. Never refuses: each poster has a bound of its own (publishes under way, readers,
    /// sessions). One wake-up serves all posts between two turns.
    void post(Task task) override;
    /// Any thread.
    void post_after(core::Duration delay, Task task) override;

    /// Posts and waits until it has run; before start() and after stop() runs it here. Throws what
    /// it throws, or std::future_error if the loop ends before it has run. Start and stop only:
    /// never from a loop's thread.
    void run_and_wait(const Task& task);

    void at_turn_end(std::function<bool()> hook) override;

    core::MonoTime now() const;
    TimingWheel& wheel();
    /// `timer` must not outlive the loop.
    void schedule(WheelTimer& timer, core::Duration delay);

    /// For the adapters that put watchers on it.
    struct ev_loop* native() const;

    /// When the loop last turned, at most half a second ago while it is healthy. Any thread.
    core::MonoTime last_turn() const;
    /// True on the loop's own thread.
    bool in_loop() const;
    const std::string& name() const override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::edge
