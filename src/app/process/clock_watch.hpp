#pragma once

#include "core/clock.hpp"

#include <optional>
#include <thread>

namespace beckon::app {

/// Notices that a person, or time synchronisation, has set the host's wall clock: it then differs
/// from the time since boot.
class ClockWatch {
public:
    /// Smaller corrections are the daily work of time synchronisation.
    static constexpr core::Duration kWorthALine = std::chrono::seconds{1};
    /// Two clocks that were not read at one moment cannot be compared.
    static constexpr core::Duration kOneMoment = std::chrono::milliseconds{100};

    explicit ClockWatch(const core::Clock& clock) : clock_(clock) {}

    /// By how much the wall clock was set since the last call, forwards or (negative) backwards.
    /// nullopt: not at all, by less than kWorthALine, or it cannot be known now.
    std::optional<core::Duration> poll();

private:
    const core::Clock& clock_;
    std::optional<core::Duration> offset_;  ///< of the wall clock, against the time since boot
};

/// Checks once a second as long as this lives, and logs a step in one line.
class ClockWatcher {
public:
    static constexpr std::chrono::seconds kEvery{1};

    explicit ClockWatcher(const core::Clock& clock);

private:
    std::jthread thread_;
};

}  // namespace beckon::app
