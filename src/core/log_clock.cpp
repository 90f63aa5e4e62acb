#include "core/log_clock.hpp"

#include <algorithm>

namespace beckon::core {

namespace {

/// Append times are cut to it, so the log's clock may have read this much more.
constexpr Duration kTick = std::chrono::milliseconds{1};
/// By how much two clocks may drift apart, as a part of the time that passes: each may be slewed by
/// 500 parts in a million.
constexpr int kDriftDivisor = 1000;

}  // namespace

LogClock::Bounds LogClock::bounds(MonoTime now) const {
    const Duration drift = (now - taken_) / kDriftDivisor;
    return {bounds_.low - drift, bounds_.high + drift};
}

void LogClock::narrow(const Bounds& evidence, MonoTime now) {
    const Bounds known = bounds(now);
    const bool stepped = !learned_ || evidence.low > known.high || evidence.high < known.low;
    if (stepped && learned_) {
        held_back_ = std::max(held_back(now) + (evidence.low - known.low), Duration::zero());
    } else {
        held_back_ = held_back(now);
    }
    bounds_ = stepped
                  ? evidence
                  : Bounds{std::max(known.low, evidence.low), std::min(known.high, evidence.high)};
    taken_ = now;
}

Duration LogClock::held_back(MonoTime now) const {
    return std::max(held_back_ - (now - taken_) / kDriftDivisor, Duration::zero());
}

void LogClock::reported(Timestamp append_time, Offset offset, MonoTime sent) {
    const Duration log_time = append_time.time_since_epoch();
    const MonoTime now = clock_.mono();
    narrow({log_time - now.time_since_epoch(), log_time + kTick - sent.time_since_epoch()}, now);
    learned_ = true;
    newest_ = offset;
    sent_ = sent;
    doubtful_low_.reset();
    reported_at_ = now;
}

void LogClock::read(Timestamp append_time, Offset offset) {
    if (!learned_ || offset <= newest_) return;
    const Duration log_time = append_time.time_since_epoch();
    const MonoTime now = clock_.mono();
    const Duration low = log_time - now.time_since_epoch();
    if (now - sent_ > kUnasked) {
        doubtful_low_ = std::min(doubtful_low_.value_or(low), low);
    } else {
        narrow({low, log_time + kTick - sent_.time_since_epoch()}, now);
    }
}

Timestamp LogClock::at(MonoTime now, Duration log_minus_mono) {
    return Timestamp{std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch() +
                                                                           log_minus_mono)};
}

Timestamp LogClock::now() const {
    if (!learned_) return clock_.wall();
    const MonoTime now = clock_.mono();
    const Duration known = bounds(now).low - held_back(now);
    return at(now, std::min(known, doubtful_low_.value_or(known)));
}

Timestamp LogClock::likely_now() const {
    if (!learned_) return clock_.wall();
    const MonoTime now = clock_.mono();
    return at(now, bounds(now).low);
}

}  // namespace beckon::core
