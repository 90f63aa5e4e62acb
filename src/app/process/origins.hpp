#pragma once

#include "ingest/endpoint.hpp"
#include "log/event_log.hpp"

namespace beckon::app {

/// Endpoint URLs live for years, and the VAPID tokens for them name the origin that they begin
/// with. So the log remembers every origin of an installation. Writes the one that `endpoint` has
/// now, unless `config.former_origins` has it, or its port is any free one (a trial: the next start
/// has another). A failure is logged, and the next start tries again. Blocks.
void remember_origin(log::EventLog& log, const ingest::EndpointConfig& config,
                     const ingest::Endpoint& endpoint);

}  // namespace beckon::app
