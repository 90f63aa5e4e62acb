#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "edge/edge_metrics.hpp"
#include "store/edge_store.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace beckon::edge {

/// Updates the metrics of the messages that wait in the store for clients of the partitions that
/// are served here: their number, and the age of the oldest. It counts them now and then, a piece
/// at a time, so that neither a shard nor the disk is held up
/// (docs/decisions/0165-waiting-messages-are-counted-by-walking-rows.md). The numbers are some
/// seconds old: newer messages may be missing, and finished ones may still count. A partition that
/// cannot be read keeps its last count. One thread: the executor's.
class WaitingSurvey {
public:
    /// Rows that one piece reads, some 2 ms; and the pause behind it: 100,000 rows a second.
    static constexpr std::size_t kPieceRows = 5'000;
    static constexpr core::Duration kPieceEvery = std::chrono::milliseconds{50};
    /// From the end of a count to the next one.
    static constexpr core::Duration kCountEvery = std::chrono::seconds{5};

    /// `now`: the log's time, by which messages expire and age (core::shown_now). `served`: the
    /// partitions to count.
    WaitingSurvey(const store::EdgeStore& store, core::Executor& executor,
                  std::function<core::Timestamp()> now, WaitingMetrics metrics,
                  std::function<std::set<core::Partition>()> served);

private:
    /// The messages that wait in one partition.
    struct Waiting {
        std::uint64_t messages = 0;
        std::optional<core::Timestamp> oldest;
        bool stale = false;  ///< the partition could not be read since
    };

    void begin();
    void go_on();
    /// One piece. True once all partitions are counted.
    bool count_a_piece();
    core::Result<bool> step();
    void keep_last(const core::Error& why);
    void report();

    const store::EdgeStore& store_;
    core::Executor& executor_;
    const std::function<core::Timestamp()> now_;
    const WaitingMetrics metrics_;
    const std::function<std::set<core::Partition>()> served_;
    core::Lifetime lifetime_;

    std::set<core::Partition> left_;  ///< not counted yet; the first may be under way
    std::optional<store::WaitingCount> counting_;
    std::map<core::Partition, Waiting> counted_;
};

}  // namespace beckon::edge
