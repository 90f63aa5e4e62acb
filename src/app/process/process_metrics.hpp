#pragma once

#include "app/config/config.hpp"
#include "ops/metrics.hpp"
#include "ops/ops_server.hpp"

#include <optional>
#include <string>

namespace beckon::app {

/// Serves the metrics of the process itself, its data directory and its certificates, which are
/// read at each `/metrics`, for as long as the returned object lives. `role`: whose certificates
/// they show. `ops` and `metrics` outlive it.
[[nodiscard]] ops::Mount mount_process_metrics(const std::string& role, ops::OpsServer& ops,
                                               ops::Metrics& metrics, const Config& config);

/// Resident memory of the process in bytes (man 5 proc). nullopt: no file descriptor is left. Any
/// thread.
std::optional<double> resident_memory();

}  // namespace beckon::app
