#pragma once

#include "ingest/metrics/ingest_metrics.hpp"

#include <atomic>
#include <cstddef>

namespace beckon::ingest {

/// Bounds the bytes of records that wait for the log's report, over all loops of an endpoint, and
/// shows them in the metrics. Thread-safe.
class PublishBudget {
public:
    PublishBudget(std::size_t bytes_max, IngestMetrics& metrics)
        : bytes_max_(bytes_max), metrics_(metrics) {}

    /// For one record. False: there is no space now. Each true is followed by release().
    bool reserve(std::size_t bytes);
    void release(std::size_t bytes);

private:
    const std::size_t bytes_max_;
    IngestMetrics& metrics_;
    std::atomic<std::size_t> bytes_{0};
};

}  // namespace beckon::ingest
