#pragma once

#include "core/clock.hpp"

#include <atomic>

namespace beckon::test {

/// As ManualClock, for code that looks at it from several threads. Starts at the system's time.
class SharedClock final : public core::Clock {
public:
    core::Timestamp wall() const override {
        return core::Timestamp{std::chrono::milliseconds{wall_ms_.load()}};
    }
    core::MonoTime mono() const override { return core::MonoTime{core::Duration{mono_ns_.load()}}; }

    void advance(std::chrono::milliseconds by) {
        mono_ns_ += core::Duration{by}.count();
        wall_ms_ += by.count();
    }
    /// The host's wall clock jumps; the monotonic one does not.
    void step_wall(std::chrono::milliseconds by) { wall_ms_ += by.count(); }

private:
    std::atomic<std::int64_t> wall_ms_ = core::SystemClock{}.wall().time_since_epoch().count();
    std::atomic<std::int64_t> mono_ns_ = core::SystemClock{}.mono().time_since_epoch().count();
};

}  // namespace beckon::test
