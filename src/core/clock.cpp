#include "core/clock.hpp"

#include <ctime>

namespace beckon::core {

namespace {

Duration read(clockid_t id) {
    timespec t{};
    clock_gettime(id, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

}  // namespace

Timestamp SystemClock::wall() const {
    return Timestamp{std::chrono::duration_cast<std::chrono::milliseconds>(read(CLOCK_REALTIME))};
}

MonoTime SystemClock::mono() const { return MonoTime{read(CLOCK_BOOTTIME)}; }

Duration thread_time() { return read(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace beckon::core
