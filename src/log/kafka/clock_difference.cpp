#include "log/kafka/clock_difference.hpp"

namespace beckon::log::kafka {

using std::chrono::milliseconds;

namespace {

std::int64_t ms(core::MonoTime time) {
    return std::chrono::floor<milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

void ClockDifference::learn(core::Timestamp appended, core::Duration took) {
    const auto seen = clock_.wall();
    const auto sent = seen - std::chrono::ceil<milliseconds>(took);
    milliseconds ahead{0};
    if (appended < sent) ahead = sent - appended;
    if (appended > seen) ahead = seen - appended;
    ahead_ms_.store(ahead.count(), std::memory_order_relaxed);
    learned_ms_.store(ms(clock_.mono()), std::memory_order_relaxed);
}

std::optional<core::Duration> ClockDifference::ahead() const {
    const auto learned = learned_ms_.load(std::memory_order_relaxed);
    if (learned == kNever) return std::nullopt;
    if (milliseconds{ms(clock_.mono()) - learned} > kProofLife) return std::nullopt;
    return milliseconds{ahead_ms_.load(std::memory_order_relaxed)};
}

}  // namespace beckon::log::kafka
