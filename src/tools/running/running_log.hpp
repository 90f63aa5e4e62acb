#pragma once

#include "log/event_log.hpp"
#include "ops/ops_server.hpp"

#include <memory>
#include <string>

namespace beckon::tools {

/// The log of a running process, read through its ops port (log_service.hpp), so that tools which
/// read a log work beside a standalone as they do on Kafka. Read only: publishes and commits are
/// answered `conflict`, and join() returns null. ends() and committed() block, as a tool may.
/// `proof`: log_proof() of a key of the installation.
std::unique_ptr<log::EventLog> open_running_log(const ops::OpsConfig& ops, std::string proof);

}  // namespace beckon::tools
