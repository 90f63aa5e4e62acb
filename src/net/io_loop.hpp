#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "net/descriptor.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace beckon::net {

/// One thread's event loop (Boost.Asio inside) as an Executor: the loop of every thread that is no
/// shard of an edge. Its timers keep the nanosecond and count the time for which the host was
/// suspended. Descriptors are looked at after every round of tasks, even if these have posted more.
/// Must outlive all that may still post to it.
class IoLoop final : public core::Executor {
public:
    static constexpr core::Duration kShortTurn = std::chrono::microseconds{250};

    /// Throws std::runtime_error if the kernel has no descriptors left.
    IoLoop();
    ~IoLoop() override;

    void post(Task task) override;
    void post_after(core::Duration delay, Task task) override;

    /// Names the calling thread (15 characters at most), blocks its signals (they are main's, and
    /// a TLS write to a closed socket must not raise SIGPIPE) and works until stop(). A task that
    /// throws ends alone (core/contain.hpp), and the loop goes on.
    void run(const char* name);
    /// From now on run() measures its turns; before it.
    void measure_turns();
    /// The most processor time that one task has taken since the last call; tasks that begin within
    /// kShortTurn of each other count as one. Any thread.
    core::Duration take_longest_turn();
    /// Any thread. Tasks that have not run by then never will.
    void stop();

private:
    friend class Watch;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Owns a descriptor and waits on a loop until it is readable or writable. On the loop's thread, or
/// when the loop has ended.
class Watch {
public:
    enum class Event : std::uint8_t { readable, writable };

    Watch(IoLoop& loop, Descriptor descriptor);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    int descriptor() const;
    /// Runs `ready` once, in a later turn of the loop; never after close().
    void wait(Event event, std::function<void()> ready);
    /// Closes the descriptor. Idempotent.
    void close() { release(); }
    /// The descriptor is the caller's; none if it was closed.
    Descriptor release();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// A thread that runs an IoLoop.
class LoopThread {
public:
    /// An idle loop turns this often, so that since_last_turn() shows whether a loop has stalled.
    static constexpr core::Duration kTick = std::chrono::seconds{1};

    /// `name`: up to 15 characters.
    LoopThread(std::string name, const core::Clock& clock);
    ~LoopThread() { stop(); }
    LoopThread(const LoopThread&) = delete;
    LoopThread& operator=(const LoopThread&) = delete;

    /// Begins the thread. `body` calls run(), and makes and destroys objects of the thread before
    /// and after; empty: run() alone.
    void start(std::function<void()> body = {});
    /// For `body`: runs the loop until stop().
    void run() { loop_.run(name_.c_str()); }
    void stop();

    IoLoop& loop() { return loop_; }
    /// Runs `task` on the thread and waits until it has returned. Rethrows its exception.
    void run_there(const std::function<void()>& task);

    const std::string& name() const { return name_; }
    /// The time since the loop's last turn, by the second; any thread.
    core::Duration since_last_turn() const { return clock_.mono() - last_turn_.load(); }

private:
    void beat();

    const std::string name_;
    const core::Clock& clock_;
    const core::SystemClock turns_;
    std::atomic<core::MonoTime> last_turn_;
    IoLoop loop_;
    std::thread thread_;
};

}  // namespace beckon::net
