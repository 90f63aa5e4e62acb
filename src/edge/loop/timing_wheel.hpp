#pragma once

#include "core/clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace beckon::edge {

class TimingWheel;

/// A timer's place in a slot's list (circular, with the slot as its head).
struct WheelLinks {
    WheelLinks* prev = nullptr;
    WheelLinks* next = nullptr;
};

/// One timer: a base of the object that it belongs to, so arming and cancelling never allocate.
/// Cancels itself when destroyed.
class WheelTimer : private WheelLinks {
public:
    using Fire = void (*)(WheelTimer&);

    /// `fire` runs once when the time has come; the timer is disarmed by then and may be armed
    /// again or destroyed from within.
    explicit WheelTimer(Fire fire) : fire_(fire) {}
    ~WheelTimer() { unlink(); }
    WheelTimer(const WheelTimer&) = delete;
    WheelTimer& operator=(const WheelTimer&) = delete;

    bool armed() const { return next != nullptr; }

private:
    friend class TimingWheel;
    void unlink();

    std::uint64_t due_ = 0;
    Fire fire_;
};

/// A hierarchical timing wheel: arming, cancelling and firing cost O(1), however many timers there
/// are (one per client connection). Resolution 1 ms: a timer fires up to 1 ms late, never early.
/// One thread. Timers must be cancelled or destroyed before the wheel.
class TimingWheel {
public:
    explicit TimingWheel(core::MonoTime start);
    TimingWheel(const TimingWheel&) = delete;
    TimingWheel& operator=(const TimingWheel&) = delete;

    /// Arms the timer, or moves it if it is armed. A timer that is due already fires at the next
    /// advance() to a later millisecond.
    void schedule(WheelTimer& timer, core::MonoTime due);
    void cancel(WheelTimer& timer) { timer.unlink(); }

    /// Fires everything that is due at `now`, in order of the milliseconds. Returns how many.
    std::size_t advance(core::MonoTime now);

    /// When advance() should be called next: never later than the first timer is due, possibly
    /// earlier. Nothing if no timer is armed.
    std::optional<core::MonoTime> next_wake();

private:
    static constexpr unsigned kBits = 6;
    static constexpr unsigned kSlots = 1U << kBits;
    static constexpr unsigned kLevels = 4;  // 64^4 ms = 4.6 h; later timers are placed again then
    static constexpr std::uint64_t kRange = std::uint64_t{1} << (kBits * kLevels);

    struct Level {
        std::array<WheelLinks, kSlots> slots;
        std::uint64_t occupied = 0;  ///< bits may be stale: a slot emptied by cancels
    };
    struct Next {
        unsigned level;
        unsigned slot;
        std::uint64_t tick;
    };

    void place(WheelTimer& timer);
    std::optional<Next> next_slot();
    std::size_t open_slot(const Next& next);

    core::MonoTime start_;
    std::uint64_t now_ = 0;  ///< ms since start_, all before it has fired
    std::array<Level, kLevels> levels_;
};

}  // namespace beckon::edge
