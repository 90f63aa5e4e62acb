#pragma once

#include "app/config/config.hpp"
#include "ops/metrics.hpp"
#include "ops/ops_server.hpp"

#include <memory>
#include <string>

namespace beckon::app {

/// The metrics of the process itself, its data directory and its certificates, read at each
/// `/metrics`.
class ProcessMetrics {
public:
    /// `role`: whose certificates it shows. `ops` and `metrics` outlive it. `config` is copied as
    /// it is now.
    ProcessMetrics(const std::string& role, ops::OpsServer& ops, ops::Metrics& metrics,
                   const Config& config);
    ~ProcessMetrics();
    ProcessMetrics(const ProcessMetrics&) = delete;
    ProcessMetrics& operator=(const ProcessMetrics&) = delete;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::app
