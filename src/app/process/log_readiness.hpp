#pragma once

#include "core/clock.hpp"
#include "log/event_log.hpp"
#include "log/log_watch.hpp"
#include "net/loop_thread.hpp"
#include "ops/health.hpp"

namespace beckon::app {

/// Readiness of the roles on Kafka that do not watch the log themselves (retry, reliability,
/// console): Health's part "log" is off while the log has not answered for three seconds, with the
/// log's reason, as an endpoint's and an edge's are. It asks once a second, on a thread of its own
/// ("log-watch"), so that a thread that waits for the log does not delay the answer.
class LogReadiness {
public:
    /// All outlive it.
    LogReadiness(log::EventLog& log, const core::Clock& clock, ops::Health& health);
    ~LogReadiness() { thread_.stop(); }
    LogReadiness(const LogReadiness&) = delete;
    LogReadiness& operator=(const LogReadiness&) = delete;

private:
    net::LoopThread thread_;
    log::LogWatch watch_;
};

}  // namespace beckon::app
