#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/key_ring.hpp"
#include "core/milestone.hpp"
#include "core/partition.hpp"
#include "ingest/call/busiest_senders.hpp"
#include "ingest/call/refused_sends.hpp"
#include "ingest/call/sender_gate.hpp"
#include "ingest/call/service_settings.hpp"
#include "ingest/metrics/ingest_metrics.hpp"
#include "ingest/receipts/receipt_polls.hpp"
#include "ingest/vapid/vapid.hpp"
#include "ingest/view/edge_lag.hpp"
#include "ingest/view/subscription_view.hpp"
#include "log/log_watch.hpp"
#include "net/peer_address.hpp"
#include "net/rate_limiter.hpp"
#include "ops/health.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::ingest {

struct ServiceConfig : ServiceSettings {
    std::string origin;  ///< public, without a trailing slash
    std::vector<std::string> audiences;
    std::size_t channels_per_client_max = 1'000;
    std::size_t vapid_cache_entries = 0;        ///< of each service
    std::vector<std::string> endpoint_origins;  ///< of endpoint URLs, former ones too
    /// SHA-256 of the VAPID keys whose messages are tracked.
    std::vector<core::Sha256> tracked;
    std::vector<std::string>
        tracked_names;  ///< the beginning of each of them in base64url, for /health
    /// How long a poll waits for an outcome: at most, and where the request names no time; within
    /// its deadline.
    std::chrono::milliseconds receipt_wait{25'000};
};

/// Bounds the bytes and the number of records that wait for the log's report, over all loops of an
/// endpoint, and shows them in the metrics. Thread-safe.
class PublishBudget {
public:
    /// A log that takes 5,000 a second has so many within a second. Later ones get 503:
    /// a message that waits longer than that is late
    /// (docs/decisions/0198-messages-are-batched-under-load.md).
    static constexpr std::size_t kRecordsMax = 4'096;

    PublishBudget(std::size_t bytes_max, IngestMetrics& metrics)
        : bytes_max_(bytes_max), metrics_(metrics) {}

    /// For one record, or several that are published together. False: there is no space now. Each
    /// true is followed by release().
    bool reserve(std::size_t bytes) {
        const auto before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
        const auto records = records_.fetch_add(1, std::memory_order_relaxed);
        if (before + bytes > bytes_max_ || records >= kRecordsMax) {
            bytes_.fetch_sub(bytes, std::memory_order_relaxed);
            records_.fetch_sub(1, std::memory_order_relaxed);
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
        records_.fetch_sub(1, std::memory_order_relaxed);
        metrics_.publish_waiting.Decrement();
        metrics_.publish_waiting_bytes.Decrement(static_cast<double>(bytes));
    }

private:
    const std::size_t bytes_max_;
    IngestMetrics& metrics_;
    std::atomic<std::size_t> bytes_{0};
    std::atomic<std::size_t> records_{0};
};

/// State that the services of all loops of an endpoint share. Constant, or thread-safe.
struct ServiceShared {
    ServiceConfig config;
    std::shared_ptr<const core::KeyRing> keys;
    const core::Clock& clock;
    SubscriptionView& view;
    IngestMetrics& metrics;
    const ops::Health& health;
    net::TrustedProxies proxies;
    net::RateLimiter requests;
    FailedChecks failed_vapid;
    PublishBudget publish_budget;
    ReceiptPolls* receipts = nullptr;  ///< null in tests that need none
    log::LogWatch* log_watch =
        nullptr;  ///< is notified of outcomes of publishes; null in tests that need none
    std::shared_ptr<RefusedSends> refused = std::make_shared<RefusedSends>();
    std::shared_ptr<BusiestSenders> busiest = std::make_shared<BusiestSenders>();
    const EdgeLag* edge_lag = nullptr;  ///< null in tests that need none
    SenderGate* senders = nullptr;      ///< null in tests that need none
    /// Whether an owner may have a webhook for the end of its subscriptions; empty: every owner.
    std::function<bool(std::string_view owner)> gone_wanted{};
    std::atomic<bool> proxy_warned{false};
    std::atomic<std::size_t> requests_open{0};
};

}  // namespace beckon::ingest
