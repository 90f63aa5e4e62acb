#pragma once

#include "console/lag/position_times.hpp"
#include "console/overview/facts.hpp"
#include "core/clock.hpp"
#include "core/partition.hpp"
#include "core/shown_clock.hpp"
#include "fold/topic_state.hpp"
#include "log/range_scan.hpp"
#include "records/done.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::console {

/// How many deliveries wait in each delay topic, how many of them are due, and since when, for the
/// console: from `retry.done`, the ends of the topics, and the append time of the first record that
/// waits in each. Records that were finished behind it are counted off. It teaches the clock the
/// log's time, by which deliveries are due. The executor's thread.
class TierPage {
public:
    TierPage(std::vector<std::chrono::seconds> tiers, core::Partition partitions,
             log::EventLog& log, core::Executor& executor, core::ShownClock& clock);

    /// {"tiers": [{"topic", "delay_seconds", "waiting", "due", "overdue_seconds",
    /// "next_due_seconds", "partitions": […the same by partition]}, …], "dead": n}; empty: not read
    /// yet. Each call sends a new query and returns the answer to the former one. `dead`: how many
    /// dead letters there are, as far as that is known.
    std::string json(const std::optional<std::size_t>& dead);
    /// The sums of the last answer of json(); nullopt: there is none yet.
    const std::optional<console::TierFacts>& facts() const { return facts_; }

private:
    struct Waiting {
        core::Offset end = 0;
        std::unique_ptr<log::RangeScan> scan;     ///< of the first record that waits
        core::Offset first = -1;                  ///< where it looks
        std::optional<core::Timestamp> appended;  ///< of that record
        console::PositionTimes times;
    };
    struct Row {
        core::Offset waiting = 0;
        core::Offset due = 0;
        std::optional<core::Duration> until_due{};  ///< of the first; negative: overdue
    };

    void ask_ends();
    void read_first(log::TopicPartition where, core::Offset first);
    Row row(int tier, core::Partition partition);
    retry::DoneRecord::Tier done(int tier, core::Partition partition) const;

    const std::vector<std::chrono::seconds> tiers_;
    const core::Partition partitions_;
    log::EventLog& log_;
    core::Executor& executor_;
    core::ShownClock& clock_;
    core::Lifetime lifetime_;
    std::map<core::Partition, retry::DoneRecord> done_;
    std::map<log::TopicPartition, Waiting> waiting_;
    std::optional<console::TierFacts> facts_;
    std::size_t answers_missing_ = 0;
    core::MonoTime ask_again_at_{};
    fold::TopicState state_;  ///< last: it calls us
};

}  // namespace beckon::console
