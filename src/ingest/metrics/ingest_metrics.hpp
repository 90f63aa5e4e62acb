#pragma once

#include "core/partition.hpp"
#include "ingest/api/errors.hpp"
#include "ingest/api/router.hpp"
#include "ingest/vapid/vapid.hpp"
#include "net/http/http_server.hpp"
#include "ops/metrics.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace beckon::ingest {

enum class BarrierOutcome : std::uint8_t { passed, failed };
inline std::string_view to_string(BarrierOutcome outcome) { return core::name_of(outcome); }

/// The metrics of ingest, looked up once; the HTTP server notifies it of connections. Thread-safe.
class IngestMetrics final : public net::HttpObserver {
public:
    explicit IngestMetrics(ops::Metrics& metrics);

    void answered(RouteName route, int status, double seconds);
    void refused(Problem problem);
    void vapid(VapidOutcome outcome);
    void count_barrier(BarrierOutcome outcome);
    prometheus::Gauge& view_offset(core::Partition partition);

    void opened() override { connections.Increment(); }
    void closed(net::CloseReason reason) override;
    void turned_away(net::CloseReason reason) override;
    void accept_paused() override { accept_pauses.Increment(); }

    prometheus::Gauge& connections;
    prometheus::Gauge& publish_waiting;
    prometheus::Gauge& publish_waiting_bytes;
    prometheus::Gauge& vapid_cached;
    prometheus::Gauge& view_lag_records;
    prometheus::Gauge& view_lag_seconds;
    prometheus::Gauge& view_stuck;
    prometheus::Counter& view_folded;
    prometheus::Counter& view_unknown;
    prometheus::Counter& accept_pauses;
    prometheus::Histogram& publish_seconds;
    prometheus::Histogram& barrier_seconds;

private:
    static constexpr std::array<int, 19> kStatuses{200, 201, 202, 204, 400, 401, 403, 404, 405, 408,
                                                   409, 410, 413, 418, 429, 431, 500, 503, 0};
    ops::Metrics& metrics_;
    /// Made at first use: most pairs of route and status never occur.
    core::ByEnum<RouteName, std::array<std::atomic<prometheus::Counter*>, kStatuses.size()>>
        answered_;
    core::ByEnum<Problem, std::atomic<prometheus::Counter*>> refused_;
    core::ByEnum<RouteName, prometheus::Histogram*> seconds_;
    core::ByEnum<VapidOutcome, prometheus::Counter*> vapid_;
    core::ByEnum<net::CloseReason, prometheus::Counter*> closed_;
    core::ByEnum<BarrierOutcome, prometheus::Counter*> barriers_;
};

}  // namespace beckon::ingest
