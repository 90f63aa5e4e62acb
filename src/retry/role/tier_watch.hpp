#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "core/lifetime.hpp"
#include "fold/offset_reports.hpp"
#include "log/event_log.hpp"
#include "retry/home/tiers/tier_state.hpp"

#include <chrono>
#include <map>
#include <vector>

namespace beckon::retry {

/// Counts the deliveries that wait in each delay tier of the partitions that this node serves. It
/// asks the log for the ends of the tiers, and commits their positions and that of the fan-out of
/// events as the group `retry`. Lag tools read it, and `beckon topics adopt` at a copy of the log;
/// the role itself goes on from `retry.done`. One thread.
class TierWatch {
public:
    static constexpr std::chrono::seconds kAskEvery{5};
    /// A delivery that moves to the next tier counts twice for lag tools until then.
    static constexpr std::chrono::seconds kReportEvery{1};
    /// Each tier of a partition is a query to a broker. With many of them a round takes longer than
    /// kAskEvery: one query in this time.
    static constexpr std::chrono::milliseconds kPerQuery{20};
    static constexpr const char* kGroup = "retry";

    /// The sums and maxima of one tier over all partitions.
    struct Waiting {
        core::Offset records = 0;  ///< not finished; read barriers that are not read yet count too
        core::Duration oldest{};   ///< how long the oldest record has waited; zero: none is known
        core::Duration overdue{};  ///< how long the first that is due has been due
    };

    TierWatch(log::EventLog& log, core::Executor& executor, const core::Clock& clock);

    /// The states of all tiers that are served now, and the events below which all are fanned out.
    /// Call it every second.
    void update(const std::vector<TierState>& states,
                const std::vector<log::GroupOffset>& fanned_out);
    /// As of the last update(), by tier.
    const std::map<int, Waiting>& waiting() const { return waiting_; }

private:
    void ask_ends(const std::vector<TierState>& states);

    log::EventLog& log_;
    const core::Clock& clock_;
    fold::OffsetReports reports_;
    std::map<log::TopicPartition, core::Offset> ends_;
    std::size_t answers_missing_ = 0;
    core::MonoTime ask_again_at_{};
    std::map<int, Waiting> waiting_;
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
