#pragma once

#include "app/config/config.hpp"
#include "app/installation/installation.hpp"
#include "console/cluster/ownership_view.hpp"
#include "log/control.hpp"
#include "log/event_log.hpp"
#include "ops/ops_server.hpp"

#include <memory>
#include <optional>
#include <string>

namespace beckon::tools {

/// The log of a running process, read through its ops port (log_service.hpp), so that tools which
/// read a log work beside a standalone as they do on Kafka. Read only: publishes and commits are
/// answered `conflict`, and join() returns null. ends() and committed() block, as a tool may.
/// `proof`: log_proof() of a key of the installation.
std::unique_ptr<log::EventLog> open_running_log(const ops::OpsConfig& ops, std::string proof);

/// Publishes a record, and returns when the log has it. Errors: timed_out, and those of the log.
core::Result<void> publish_one(log::EventLog& log, log::TopicPartition where, core::Record record,
                               std::chrono::milliseconds timeout);

/// Whether a standalone of this host holds the data directory, and so the log.
bool is_served(const app::Config& config);

/// The log of an installation, for tools that only read it: Kafka if kafka.servers is set; else
/// that of the standalone which holds the data directory, through its ops port; else the log in the
/// data directory. One thread.
class ToolLog {
public:
    /// Throws StartupError: no log there, no key ring for the proof, no process answers.
    explicit ToolLog(const app::Config& config);

    log::EventLog& log() { return running_ ? *running_ : installation_->log(); }
    /// Throws StartupError.
    const log::Control& control();
    /// Whether nodes live whose processes report nothing to this log.
    console::Unreported unreported() const {
        return running_ ? console::Unreported::alive : console::Unreported::dead;
    }

private:
    std::unique_ptr<log::EventLog> running_;  ///< one of the two
    std::optional<app::Installation> installation_;
    std::optional<log::Control> control_;
};

}  // namespace beckon::tools
