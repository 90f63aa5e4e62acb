#include "edge/lag_reports.hpp"

#include "records/edge_lag.hpp"

#include <algorithm>
#include <utility>

namespace beckon::edge {

using cluster::EdgeLagRecord;
using std::chrono::milliseconds;

LagReports::LagReports(core::NodeId node, std::size_t shards, log::EventLog& log,
                       core::Executor& executor, const core::Clock& clock)
    : node_(std::move(node)),
      executor_(executor),
      clock_(clock),
      shards_(shards),
      lifetime_(executor),
      publisher_(log.open_publisher(executor)) {
    report();
}

void LagReports::measured(std::size_t shard, core::Duration lag) {
    shards_[shard].lag = lag.count();
    shards_[shard].at = clock_.mono().time_since_epoch().count();
}

milliseconds LagReports::lag() const {
    core::Duration::rep most = 0;
    const auto since = (clock_.mono() - kCountsFor).time_since_epoch().count();
    for (const auto& shard : shards_) {
        if (shard.at >= since) most = std::max(most, shard.lag.load());
    }
    return std::chrono::duration_cast<milliseconds>(core::Duration{most});
}

/// One record at a time. A log that does not take it costs nothing but that.
void LagReports::report() {
    const auto now = lag();
    const bool behind = now >= EdgeLagRecord::kLeast;
    if ((behind || said_) && publisher_->unanswered() == 0) {
        said_ = behind;
        publisher_->publish(
            {log::Topic::kOwnership, 0},
            encode(EdgeLagRecord{.node = node_, .lag = behind ? std::optional{now} : std::nullopt}),
            [](const core::Result<log::Appended>&) {});
    }
    executor_.post_after(EdgeLagRecord::kEvery, lifetime_.guard([this] { report(); }));
}

}  // namespace beckon::edge
