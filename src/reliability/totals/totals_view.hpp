#pragma once

#include "fold/fold.hpp"
#include "fold/topic_state.hpp"
#include "reliability/totals/totals.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <set>

namespace beckon::reliability {

/// The sum of all partitions' counts in `reliability.totals`: a fold in memory, for pages and
/// tools. Made and destroyed on the thread of the executor; everything else from any thread.
class TotalsView final : public core::MilestoneCountsSource {
public:
    TotalsView(const core::NodeId& node, fold::Fold::Context context);
    ~TotalsView() override;

    /// nullopt until all records published before the start are read, or if there were none.
    std::optional<core::MilestoneCounts> counts() const override;
    /// Steps of about the last day.
    Flow flow() const;
    /// The steps that the diagram did not allow, since the histories were first folded.
    std::map<Step, std::uint64_t> refused() const;
    /// The report of a day; nullopt if no partition has published its part (yet).
    std::optional<Report> report(Day day) const;
    /// The days of which there are reports.
    std::set<Day> days() const;
    /// All records published before the start are read.
    bool complete() const;

private:
    void apply(const core::RecordView& record);
    void clear();
    void caught_up();

    mutable std::mutex mutex_;
    std::map<core::Partition, PartitionCounts> counts_;
    std::map<Day, std::map<core::Partition, Report>> reports_;
    bool complete_ = false;
    fold::TopicState state_;  ///< first to go: it calls us
};

}  // namespace beckon::reliability
