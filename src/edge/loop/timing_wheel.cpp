#include "edge/loop/timing_wheel.hpp"

#include "core/contain.hpp"

#include <algorithm>
#include <bit>

namespace beckon::edge {

namespace {

using std::chrono::milliseconds;

/// First millisecond that is not before `t`: a timer never fires early.
std::uint64_t tick_at_or_after(core::Duration since_start) {
    if (since_start.count() <= 0) return 0;
    return static_cast<std::uint64_t>(std::chrono::ceil<milliseconds>(since_start).count());
}

std::uint64_t tick_at_or_before(core::Duration since_start) {
    if (since_start.count() <= 0) return 0;
    return static_cast<std::uint64_t>(std::chrono::floor<milliseconds>(since_start).count());
}

}  // namespace

void WheelTimer::unlink() {
    if (!armed()) return;
    prev->next = next;
    next->prev = prev;
    prev = next = nullptr;
}

TimingWheel::TimingWheel(core::MonoTime start) : start_(start) {
    for (auto& level : levels_) {
        for (auto& slot : level.slots) slot = {&slot, &slot};
    }
}

void TimingWheel::schedule(WheelTimer& timer, core::MonoTime due) {
    timer.unlink();
    // Never into the millisecond that is being fired: a timer that arms itself again with no delay
    // would keep advance() from ever returning.
    timer.due_ = std::max(tick_at_or_after(due - start_), now_ + 1);
    place(timer);
}

/// The level is that of the highest digit (base 64) in which `due` and now differ; so a slot of a
/// level holds exactly the timers whose digits above are those of now, and lower levels come first.
void TimingWheel::place(WheelTimer& timer) {
    constexpr std::uint64_t kTopSlot = kRange / kSlots;
    const std::uint64_t when = std::min(timer.due_, now_ + kRange - kTopSlot);
    const std::uint64_t differ = (when ^ now_) | 1;
    const unsigned level =
        std::min((63U - static_cast<unsigned>(std::countl_zero(differ))) / kBits, kLevels - 1);
    const auto slot = static_cast<unsigned>(when >> (kBits * level)) % kSlots;
    WheelLinks& head = levels_[level].slots[slot];
    levels_[level].occupied |= std::uint64_t{1} << slot;
    timer.prev = head.prev;
    timer.next = &head;
    head.prev->next = &timer;
    head.prev = &timer;
}

std::optional<TimingWheel::Next> TimingWheel::next_slot() {
    for (unsigned i = 0; i < kLevels; ++i) {
        Level& level = levels_[i];
        const unsigned shift = kBits * i;
        const auto current = static_cast<unsigned>(now_ >> shift) % kSlots;
        while (level.occupied != 0) {
            const auto ahead = static_cast<unsigned>(
                std::countr_zero(std::rotr(level.occupied, static_cast<int>(current))));
            const unsigned slot = (current + ahead) % kSlots;
            if (level.slots[slot].next == &level.slots[slot]) {
                level.occupied &= ~(std::uint64_t{1} << slot);
                continue;
            }
            // Only the top level wraps around; `ahead` counts on from the current digit.
            const std::uint64_t tick = ((now_ >> shift) + ahead) << shift;
            return Next{.level = i, .slot = slot, .tick = std::max(tick, now_)};
        }
    }
    return std::nullopt;
}

/// Fires the timers of a slot that are due, and places the others again, on lower levels.
std::size_t TimingWheel::open_slot(const Next& next) {
    Level& level = levels_[next.level];
    WheelLinks& head = level.slots[next.slot];
    level.occupied &= ~(std::uint64_t{1} << next.slot);
    // Take the list out first: a timer that fires may cancel or destroy any other timer of it.
    WheelLinks list{head.prev, head.next};
    list.prev->next = &list;
    list.next->prev = &list;
    head = {&head, &head};

    std::size_t fired = 0;
    while (list.next != &list) {
        auto& timer = static_cast<WheelTimer&>(*list.next);
        timer.unlink();
        if (timer.due_ <= now_) {
            core::contain("edge timers", [&] { timer.fire_(timer); });  // others are due too
            ++fired;
        } else {
            place(timer);
        }
    }
    return fired;
}

std::size_t TimingWheel::advance(core::MonoTime now) {
    const std::uint64_t until = tick_at_or_before(now - start_);
    std::size_t fired = 0;
    for (auto next = next_slot(); next && next->tick <= until; next = next_slot()) {
        now_ = next->tick;
        fired += open_slot(*next);
    }
    now_ = std::max(now_, until);
    return fired;
}

std::optional<core::MonoTime> TimingWheel::next_wake() {
    const auto next = next_slot();
    if (!next) return std::nullopt;
    return start_ + milliseconds{static_cast<std::int64_t>(next->tick)};
}

}  // namespace beckon::edge
