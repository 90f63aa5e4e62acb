#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "edge/home/home_shard.hpp"
#include "log/event_log.hpp"
#include "records/edge_lag.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace beckon::edge {

/// Says in `ownership` in which partitions this edge is far behind the log (records/edge_lag.hpp),
/// as long as it is. Made, used and destroyed on the executor's thread, but for measured().
class LagReports {
public:
    LagReports(core::NodeId node, std::size_t shards, log::EventLog& log, core::Executor& executor,
               const core::Clock& clock);

    /// How far the homes of that shard which serve are behind. Any thread.
    void measured(std::size_t shard, const Lags& lags);

private:
    /// A shard that has said nothing for so long has nothing to do, or hangs, which is for others
    /// to find.
    static constexpr std::chrono::seconds kCountsFor{2};

    struct Shard {
        core::Duration most{};
        std::vector<core::Partition> partitions{};  ///< those that are named
        core::MonoTime at{};
    };
    void report();
    cluster::EdgeLagRecord now() const;

    const core::NodeId node_;
    core::Executor& executor_;
    const core::Clock& clock_;
    mutable std::mutex mutex_;
    std::vector<Shard> shards_;  ///< under mutex_
    bool said_ = false;          ///< that it is behind
    core::Lifetime lifetime_;
    const std::unique_ptr<log::Publisher> publisher_;  ///< last: it calls us
};

}  // namespace beckon::edge
