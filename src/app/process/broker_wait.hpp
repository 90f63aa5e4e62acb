#pragma once

#include "app/config/config.hpp"
#include "core/result.hpp"

#include <chrono>
#include <functional>

namespace beckon::app {

/// The wait of a start, or of a command, for a broker: one line each 5 s, not longer than
/// `startup_timeout`. Main thread only.
class BrokerWait {
public:
    /// Sleeps as long as given, or throws where a signal ends the wait.
    using Pause = std::function<void(std::chrono::milliseconds)>;
    BrokerWait(const Config& config, Pause pause);

    /// Returns when it is time to ask again. Throws StartupError: asking again does not help, or
    /// the time is over; and what `pause` throws.
    void pause_after(const core::Error& why);

private:
    const Config& config_;
    const Pause pause_;
    const std::chrono::steady_clock::time_point until_;
    std::chrono::steady_clock::time_point next_line_{};
};

}  // namespace beckon::app
