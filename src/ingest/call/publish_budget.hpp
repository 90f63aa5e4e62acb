#pragma once

#include "ingest/metrics/ingest_metrics.hpp"

#include <atomic>
#include <cstddef>
#include <utility>

namespace beckon::ingest {

/// Bounds the bytes of records that wait for the log's report, over all loops of an endpoint, and
/// shows them in the metrics. Thread-safe.
class PublishBudget {
public:
    PublishBudget(std::size_t bytes_max, IngestMetrics& metrics)
        : bytes_max_(bytes_max), metrics_(metrics) {}

    /// For one record, or several that are published together. False: there is no space now. Each
    /// true is followed by release().
    bool reserve(std::size_t bytes) {
        const auto before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
        if (before + bytes > bytes_max_) {
            bytes_.fetch_sub(bytes, std::memory_order_relaxed);
            return false;
        }
        metrics_.publish_waiting.Increment();
        metrics_.publish_waiting_bytes.Increment(static_cast<double>(bytes));
        return true;
    }
    /// Runs `publish`, whose answer calls release(); if it throws, there is no answer.
    template <class Publish>
    void release_if_throws(std::size_t bytes, Publish&& publish) {
        try {
            std::forward<Publish>(publish)();
        } catch (...) {
            release(bytes);
            throw;
        }
    }
    void release(std::size_t bytes) {
        bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        metrics_.publish_waiting.Decrement();
        metrics_.publish_waiting_bytes.Decrement(static_cast<double>(bytes));
    }

private:
    const std::size_t bytes_max_;
    IngestMetrics& metrics_;
    std::atomic<std::size_t> bytes_{0};
};

}  // namespace beckon::ingest
