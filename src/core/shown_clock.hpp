#pragma once

#include "core/clock.hpp"
#include "core/log_clock.hpp"

#include <atomic>
#include <limits>

namespace beckon::core {

/// A clock for the ages of records that people see. wall() is the log's time (shown_now()) once
/// learn() was given a record that was read a moment after it was appended; before that it is the
/// host's wall clock. Any thread.
class ShownClock final : public Clock {
public:
    explicit ShownClock(const Clock& host) : host_(host) {}

    /// A record that was appended a moment ago.
    void learn(Timestamp appended) { at_zero_ = (appended - mono_ms()).time_since_epoch().count(); }

    Timestamp wall() const override {
        const auto at_zero = at_zero_.load();
        if (at_zero == kUnknown) return host_.wall();
        const Timestamp log_now = Timestamp{std::chrono::milliseconds{at_zero}} + mono_ms();
        return shown_now(log_now, host_.wall());
    }
    MonoTime mono() const override { return host_.mono(); }

private:
    using Count = std::chrono::milliseconds::rep;
    static constexpr Count kUnknown = std::numeric_limits<Count>::min();

    std::chrono::milliseconds mono_ms() const {
        return std::chrono::floor<std::chrono::milliseconds>(host_.mono().time_since_epoch());
    }

    const Clock& host_;
    std::atomic<Count> at_zero_ = kUnknown;  ///< the log's time when mono() was 0
};

}  // namespace beckon::core
