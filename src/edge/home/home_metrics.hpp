#pragma once

#include "core/enum_names.hpp"
#include "edge/home/home.hpp"
#include "ops/metrics.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace beckon::edge {

/// The name of a state in metrics, readiness and log lines.
inline std::string_view to_string(Home::State state) { return core::name_of(state); }

/// The homes of one shard, added up.
struct HomeTotals : HomeCounters {
    core::ByEnum<Home::State, std::size_t> in_state{};
    std::size_t sessions = 0;
    std::size_t pending_tombstones = 0;

    void add(const Home::Status& status);
};

/// How far the folds of a shard are behind the log.
struct HomeLag {
    core::Offset records = 0;
    core::Duration age{};  ///< of the oldest record that is not folded
    /// Of the homes that are being restored: records that they have folded, and those left.
    core::Offset restored = 0;
    core::Offset to_restore = 0;

    /// 1 while no home is being restored.
    double restored_ratio() const {
        const auto all = restored + to_restore;
        return all > 0 ? static_cast<double>(restored) / static_cast<double>(all) : 1.0;
    }
};

/// The metrics of homes. Thread-safe: shards report differences.
class HomeMetrics {
public:
    explicit HomeMetrics(ops::Metrics& metrics);
    /// `now` replaces this shard's report `before`.
    void report(const HomeTotals& now, const HomeTotals& before) const;
    void report_lag(std::string_view shard, const HomeLag& lag) const;
    const DeliveryTimes& times() const { return times_; }

private:
    ops::Metrics& metrics_;
    DeliveryTimes times_;
    core::ByEnum<Home::State, prometheus::Gauge*> states_;
    prometheus::Gauge& sessions_;
    prometheus::Gauge& pending_tombstones_;
    PerCounter<prometheus::Counter*> counters_;
};

}  // namespace beckon::edge
