#pragma once

#include "app/config/config.hpp"
#include "app/process/process.hpp"
#include "core/clock.hpp"
#include "log/control.hpp"
#include "log/event_log.hpp"

#include <memory>

namespace beckon::app {

/// `asked` with the partitions and tiers that the installation was made with.
log::LayoutOptions layout_of(log::LayoutOptions asked, const log::Control& control);

/// The installation's log for a tool: Kafka if kafka.servers is set, else the embedded log of the
/// data directory, which is locked meanwhile (standalone stopped). One thread.
class Installation {
public:
    /// Throws StartupError: no log there, directory in use, a log that cannot be opened.
    explicit Installation(const Config& config);

    log::EventLog& log() { return *log_; }
    /// The settings that all processes agree on. Throws StartupError: no log was made, no broker
    /// answers.
    const log::Control& control();
    /// Throws StartupError.
    void write(const log::Control& changed);

private:
    core::SystemClock clock_;
    std::unique_ptr<DataDirectory> directory_;
    std::unique_ptr<log::EventLog> log_;
    std::optional<log::Control> control_;
};

}  // namespace beckon::app
