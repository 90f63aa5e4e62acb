#include "log/batching/linger.hpp"

#include <algorithm>
#include <cmath>

namespace beckon::log {

using Duration = SteadyTime::duration;

namespace {

/// The first linger, and the shortest that is worth a timer.
constexpr Duration kLeast = std::chrono::microseconds{500};

}  // namespace

void Linger::measured(const Processors::Load& load, int spans) {
    const auto idle = load.own < kOwnLeast ? std::max(load.idle, kIdleOfOthers) : load.idle;
    const bool grows = idle < kIdle;
    // Nobody asked meanwhile, so nothing is known of how it would have helped: it grows once.
    const auto factor = std::exp(kGain * (kIdle - idle) * (grows ? 1 : spans));
    const auto before = grows ? std::max(now(), kLeast) : now();
    const auto after =
        std::min(static_cast<double>(before.count()) * factor, static_cast<double>(most_.count()));
    linger_ = after < static_cast<double>(kLeast.count()) ? 0 : static_cast<SteadyTime::rep>(after);
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
