#include "log/batching/linger.hpp"

#include <algorithm>

namespace beckon::log {

using Duration = SteadyTime::duration;

namespace {

/// The first linger, and the shortest that is worth a timer.
constexpr Duration kLeast = std::chrono::microseconds{500};

Duration longer(Duration linger) { return std::max(linger + linger / 2, kLeast); }

Duration shorter(Duration linger) {
    const auto next = linger - linger / 5;
    return next < kLeast ? Duration::zero() : next;
}

}  // namespace

void Linger::measured(const Processors::Load& load, int spans) {
    auto linger = now();
    const bool pays = load.own >= kOwnLeast;
    if (pays && load.idle < kShort) {
        linger = std::min(longer(linger), most_);
    } else if (!pays || load.idle > kSpare) {
        const auto least = pays && load.idle < kPlenty ? little_ : Duration::zero();
        for (int i = 0; i < spans && linger > least; ++i) linger = shorter(linger);
        linger = std::max(linger, least);
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
