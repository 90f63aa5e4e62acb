#pragma once

#include "ops/health.hpp"

#include <chrono>
#include <string>
#include <thread>

namespace beckon::app {

/// Sends WATCHDOG=1 to the supervisor once a second, on a thread of its own ("watchdog"), as long
/// as Health says that the process is live. A process that is stopped or whose loop hangs sends
/// nothing, and systemd ends and restarts it after WatchdogSec= (man 3 sd_notify). Without a
/// supervisor that asks for it, it does nothing.
class Watchdog {
public:
    static constexpr std::chrono::seconds kEvery{1};

    /// Of this process: the socket that $NOTIFY_SOCKET names. `health` outlives it.
    explicit Watchdog(const ops::Health& health);
    /// `socket`: a path, or a name of Linux's abstract namespace with `@` in front; empty: none.
    Watchdog(const ops::Health& health, const std::string& socket);

private:
    std::jthread thread_;
};

}  // namespace beckon::app
