#pragma once

#include "core/clock.hpp"
#include "log/event_log.hpp"
#include "ops/health.hpp"
#include "ops/metrics.hpp"

#include <optional>
#include <string>
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

/// The warning for a host's clock that is ahead of the log's time by so much (negative: behind);
/// empty: no warning is needed.
std::string clock_warning(core::Duration ahead);

/// Compares the host's clock with the log's time as long as this lives: a warning in /ready, a
/// metric, and a log line when it becomes wrong and when it is right again.
class LogClockWatch {
public:
    static constexpr std::chrono::seconds kEvery{1};
    /// Smaller differences harm neither VAPID tokens nor append times.
    static constexpr std::chrono::seconds kTooFar{60};

    /// All outlive it.
    LogClockWatch(const log::EventLog& log, ops::Health& health, ops::Metrics& metrics);

private:
    std::jthread thread_;
};

}  // namespace beckon::app
