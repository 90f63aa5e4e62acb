#pragma once

#include "core/clock.hpp"

namespace beckon::test {

/// A clock that stops until it is advanced.
class ManualClock final : public core::Clock {
public:
    core::Timestamp wall() const override { return wall_; }
    core::MonoTime mono() const override { return mono_; }
    void advance(core::Duration by) {
        mono_ += by;
        wall_since_start_ += by;
        wall_ = start_ + std::chrono::duration_cast<std::chrono::milliseconds>(wall_since_start_);
    }
    /// The host's wall clock jumps; the monotonic one does not.
    void step_wall(std::chrono::milliseconds by) {
        start_ += by;
        wall_ += by;
    }

private:
    core::Timestamp start_{std::chrono::milliseconds{1'790'000'000'000}};
    core::Duration wall_since_start_{};
    core::Timestamp wall_ = start_;
    core::MonoTime mono_{std::chrono::seconds{1000}};
};

}  // namespace beckon::test
