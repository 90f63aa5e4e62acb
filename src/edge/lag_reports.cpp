#include "edge/lag_reports.hpp"

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

void LagReports::measured(std::size_t shard, const Lags& lags) {
    Shard now{.at = clock_.mono()};
    for (const auto& [partition, lag] : lags) {
        now.most = std::max(now.most, lag);
        if (lag >= EdgeLagRecord::kLeast) now.partitions.push_back(partition);
    }
    const std::scoped_lock lock{mutex_};
    shards_[shard] = std::move(now);
}

EdgeLagRecord LagReports::now() const {
    EdgeLagRecord out{.node = node_};
    const auto since = clock_.mono() - kCountsFor;
    const std::scoped_lock lock{mutex_};
    for (const auto& shard : shards_) {
        if (shard.at < since) continue;
        out.lag = std::max(out.lag, std::chrono::duration_cast<milliseconds>(shard.most));
        out.partitions.insert(out.partitions.end(), shard.partitions.begin(),
                              shard.partitions.end());
    }
    std::ranges::sort(out.partitions);
    return out;
}

/// One record at a time. A log that does not take it costs nothing but that.
void LagReports::report() {
    const auto record = now();
    const bool behind = !record.partitions.empty();
    if ((behind || said_) && publisher_->unanswered() == 0) {
        said_ = behind;
        publisher_->publish({log::Topic::kOwnership, 0}, encode(record),
                            [](const core::Result<log::Appended>&) {});
    }
    executor_.post_after(EdgeLagRecord::kEvery, lifetime_.guard([this] { report(); }));
}

}  // namespace beckon::edge
