#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "log/event_log.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

namespace beckon::edge {

/// Says in `ownership` how far this edge is behind the log (records/edge_lag.hpp), as long as it
/// is. Made, used and destroyed on the executor's thread, but for measured().
class LagReports {
public:
    LagReports(core::NodeId node, std::size_t shards, log::EventLog& log, core::Executor& executor,
               const core::Clock& clock);

    /// How far the homes of that shard which serve are behind. Any thread.
    void measured(std::size_t shard, core::Duration lag);

private:
    /// A shard that has said nothing for so long has nothing to do, or hangs, which is for others
    /// to find.
    static constexpr std::chrono::seconds kCountsFor{2};

    struct Shard {
        std::atomic<core::Duration::rep> lag = 0;
        std::atomic<core::Duration::rep> at = 0;  ///< by the clock's mono()
    };
    void report();
    std::chrono::milliseconds lag() const;

    const core::NodeId node_;
    core::Executor& executor_;
    const core::Clock& clock_;
    std::vector<Shard> shards_;
    bool said_ = false;  ///< that it is behind
    core::Lifetime lifetime_;
    const std::unique_ptr<log::Publisher> publisher_;  ///< last: it calls us
};

}  // namespace beckon::edge
