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
    /// Sleeps as long as given; the number of the signal that ended it early, or 0.
    using Pause = std::function<int(std::chrono::milliseconds)>;
    BrokerWait(const Config& config, Pause pause);

    /// Returns when it is time to ask again. Throws StartupError: asking again does not help, the
    /// time is over, or a signal came.
    void after(const core::Error& why);

private:
    const Config& config_;
    const Pause pause_;
    const std::chrono::steady_clock::time_point until_;
    std::chrono::steady_clock::time_point next_line_{};
};

}  // namespace beckon::app
