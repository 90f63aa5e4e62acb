#include "log/batching/linger.hpp"

#include <algorithm>

namespace beckon::log {

using Duration = SteadyTime::duration;

namespace {

/// The first linger, and the shortest that is worth a timer.
constexpr Duration kLeast = std::chrono::microseconds{500};

Duration longer(Duration linger) { return std::max(linger + linger / 2, kLeast); }

/// By one part in `parts`.
Duration shorter(Duration linger, int parts) {
    const auto next = linger - linger / parts;
    return next < kLeast ? Duration::zero() : next;
}

constexpr int kQuickly = 5;
constexpr int kSlowly = 20;

}  // namespace

void Linger::measured(const Processors::Load& load, int spans) {
    auto linger = now();
    const bool pays = load.own >= kOwnLeast;
    if (pays && load.idle < kShort) {
        linger = std::min(longer(linger), most_);
    } else {
        const bool spare = !pays || load.idle > kSpare;
        for (int i = 0; i < spans; ++i) linger = shorter(linger, spare ? kQuickly : kSlowly);
    }
    linger_ = linger.count();
}

Duration OwnLinger::at(SteadyTime now) {
    if (now.time_since_epoch().count() < due_.load(std::memory_order_relaxed)) return linger_.now();
    const std::unique_lock lock{measuring_, std::try_to_lock};
    const SteadyTime due{Duration{due_.load(std::memory_order_relaxed)}};
    if (!lock || now < due) return linger_.now();
    constexpr int kSpans = 100;
    const auto late = std::min<std::int64_t>((now - due) / Linger::kSpan, kSpans);
    linger_.measured(processors_.since_last(), 1 + static_cast<int>(late));
    due_ = (now + Linger::kSpan).time_since_epoch().count();
    return linger_.now();
}

}  // namespace beckon::log
