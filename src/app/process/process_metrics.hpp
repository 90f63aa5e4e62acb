#pragma once

#include "app/config/config.hpp"
#include "ops/metrics.hpp"
#include "ops/ops_server.hpp"

#include <memory>

namespace beckon::app {

/// The metrics of the process itself, its data directory and its certificates, read at each
/// `/metrics`.
class ProcessMetrics {
public:
    /// `ops` and `metrics` outlive it. `config` is copied as it is now.
    ProcessMetrics(ops::OpsServer& ops, ops::Metrics& metrics, const Config& config);
    ~ProcessMetrics();
    ProcessMetrics(const ProcessMetrics&) = delete;
    ProcessMetrics& operator=(const ProcessMetrics&) = delete;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::app
