#pragma once

#include "core/clock.hpp"
#include "log/event_log.hpp"

#include <optional>

namespace beckon::log {

/// A log that stamps its records by another clock than the host's: it knows how both differ.
class HasClock {
public:
    virtual ~HasClock() = default;
    /// See below. Any thread.
    virtual std::optional<core::Duration> clock_ahead() const = 0;
};

/// By how much this host's wall clock is ahead of the log's time (negative: behind), as far as one
/// of the two must be wrong; zero: they agree. nullopt: nothing was appended recently that shows
/// it, or the log is no HasClock. Any thread.
std::optional<core::Duration> clock_ahead(const EventLog& log);

}  // namespace beckon::log
