#include "core/clock.hpp"

#include <ctime>

namespace beckon::core {

namespace {

Duration read(clockid_t id) {
    timespec t{};
    clock_gettime(id, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

constexpr Duration kSampleLife = std::chrono::minutes{1};

}  // namespace

Timestamp SystemClock::wall() const {
    return Timestamp{std::chrono::duration_cast<std::chrono::milliseconds>(read(CLOCK_REALTIME))};
}

MonoTime SystemClock::mono() const { return MonoTime{read(CLOCK_BOOTTIME)}; }

void LogClock::learn(Timestamp append_time, MonoTime sent) {
    const MonoTime now = clock_.mono();
    const Duration round_trip = now - sent;
    const bool better = !learned_ || round_trip <= round_trip_ || now - taken_ > kSampleLife;
    if (!better) return;
    learned_ = true;
    round_trip_ = round_trip;
    taken_ = now;
    offset_ = append_time.time_since_epoch() - (sent + round_trip / 2).time_since_epoch();
}

Timestamp LogClock::now() const {
    if (!learned_) return clock_.wall();
    return Timestamp{std::chrono::duration_cast<std::chrono::milliseconds>(
        clock_.mono().time_since_epoch() + offset_)};
}

}  // namespace beckon::core
