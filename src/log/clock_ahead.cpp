#include "log/clock_ahead.hpp"

namespace beckon::log {

std::optional<core::Duration> clock_ahead(const EventLog& log) {
    const auto* const with_clock = dynamic_cast<const HasClock*>(&log);
    return with_clock != nullptr ? with_clock->clock_ahead() : std::nullopt;
}

}  // namespace beckon::log
