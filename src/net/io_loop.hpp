#pragma once

#include "core/executor.hpp"
#include "net/descriptor.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

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

}  // namespace beckon::net
