#pragma once

#include "ingest/api/errors.hpp"
#include "ingest/api/router.hpp"
#include "ingest/vapid/vapid.hpp"
#include "ops/metrics.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace beckon::ingest {

/// Why a connection ended or was turned away; the label of `beckon_ingest_closed_total`.
enum class CloseReason : std::uint8_t {
    by_peer,
    keep_alive,  ///< idle for too long
    deadline,    ///< a request was not done in time
    finished,    ///< `Connection: close`, or after an error that ends it
    bad_request,
    header_too_large,
    body_too_large,
    tls,          ///< handshake or record failure
    connections,  ///< too many in total
    address,      ///< too many from one address
    stopping,
    broken,  ///< reset, or an I/O error
};
inline constexpr int kCloseReasons = static_cast<int>(CloseReason::broken) + 1;
std::string_view to_string(CloseReason reason);

enum class MarkOutcome : std::uint8_t { passed, failed };

/// The metrics of ingest, looked up once. Thread-safe.
class IngestMetrics {
public:
    explicit IngestMetrics(ops::Metrics& metrics);

    void answered(RouteName route, int status, double seconds);
    void refused(Problem problem);
    void vapid(VapidOutcome outcome);
    void closed(CloseReason reason);
    void marked(MarkOutcome outcome);

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
    prometheus::Histogram& mark_seconds;

private:
    static constexpr std::array<int, 17> kStatuses{200, 201, 204, 400, 401, 404, 405, 408, 410,
                                                   413, 418, 429, 431, 500, 502, 503, 0};
    ops::Metrics& metrics_;
    /// Made at first use: most pairs of route and status never occur.
    std::array<std::array<std::atomic<prometheus::Counter*>, kStatuses.size()>, kRoutes>
        answered_{};
    std::array<std::atomic<prometheus::Counter*>, kProblems> refused_{};
    std::array<prometheus::Histogram*, kRoutes> seconds_{};
    std::array<prometheus::Counter*, 4> vapid_{};
    std::array<prometheus::Counter*, kCloseReasons> closed_{};
    std::array<prometheus::Counter*, 2> marked_{};
};

}  // namespace beckon::ingest
