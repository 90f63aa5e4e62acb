#pragma once

#include "core/lifetime.hpp"
#include "fold/fold.hpp"
#include "reliability/home/partition_fold.hpp"
#include "reliability/home/partition_rows.hpp"
#include "reliability/totals/totals.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace beckon::reliability {

/// One partition of `reliability`: folds it into its rows. While it serves, it also reports expired
/// messages, and publishes the partition's counts and reports in `reliability.totals`.
///
/// Everything happens on the thread of the executor, where it is made and destroyed.
class MilestoneHome final : private fold::State {
public:
    /// An end that is on its way is not overtaken by the TTL's.
    static constexpr std::chrono::minutes kExpiryGrace{1};
    /// A report waits for milestones that are late.
    static constexpr std::chrono::minutes kReportGrace{10};
    static constexpr std::chrono::days kReportsKept{30};
    /// So many of the last days are published again at a start: the home may have been away
    /// meanwhile.
    static constexpr std::chrono::days kReportsAtStart{7};
    /// Histories that collect until they are written: once a second, or when there are so many.
    /// The milestones of a message within that time are one row.
    static constexpr std::size_t kChangesMax = 50'000;
    /// Ids that expire in one turn, and ids that a report reads in one turn.
    static constexpr std::size_t kExpiredMax = 1'000;
    static constexpr std::size_t kReportStep = 1'000;

    struct Options {
        core::Partition partition = 0;
        core::NodeId node;
    };
    /// Outlive the home. `publisher` is for both topics.
    using Context = fold::Fold::Context;

    MilestoneHome(Options options, Context context, std::unique_ptr<PartitionRows> rows,
                  std::function<void()> progressed);
    ~MilestoneHome() override;

    /// Whether this node is the partition's home, or only follows it.
    void serve(bool serves) { serves_ = serves; }
    bool serves() const { return serves_; }
    /// Read barriers have passed: its answers are the log's.
    bool following() const { return fold_.phase() == fold::Phase::following; }

    /// Call it about once a second: writes collected changes. While it serves, it also expires due
    /// messages, and publishes changed counts and reports of days that are over.
    void tick();

    PartitionCounts counts() const;
    const Tally& tally() const { return folded_.totals().tally(); }
    /// Any thread: the committed state.
    core::Result<std::optional<History>> find(std::string_view id) const { return rows_->find(id); }
    fold::Progress progress() const { return fold_.progress(); }

private:
    // fold::State
    std::optional<core::Checkpoint> checkpoint(fold::InputIndex input) const override;
    void replay(fold::InputIndex input, const core::RecordView& record) override;
    void advance(fold::InputIndex input, core::Offset next,
                 std::optional<core::Timestamp> caught_up, core::Timestamp youngest) override;
    /// True when it is time to write.
    bool dirty() const override;
    bool commit_due() const override { return dirty(); }
    core::Result<void> commit() override;
    core::Result<void> clear() override;
    void turn_ended() override {}
    void caught_up() override {}
    void restarted(std::string_view why) override;
    void progressed() override { progressed_(); }

    core::Timestamp now() const { return fold_.log_clock(0).now(); }
    void restore();
    void expire();
    void publish_counts();
    void publish_reports();
    void start_report(Day day);
    void go_on_with_report();
    void publish_totals(core::Record record, std::function<void()> failed);

    struct ReportUnderWay {
        Day day;
        std::string after;  ///< the last id that was read
        Report report;
    };

    const Options options_;
    const Context context_;
    const std::unique_ptr<PartitionRows> rows_;
    const std::function<void()> progressed_;
    PartitionFold folded_;
    std::optional<core::Checkpoint> checkpoint_;  ///< uncommitted advances included
    bool moved_ = false;                          ///< checkpoint_ is ahead of the rows
    bool due_ = false;                            ///< a second is over since the last commit
    bool serves_ = false;
    std::size_t expiring_ = 0;  ///< published and not answered
    std::optional<PartitionCounts> notified_;
    std::optional<Day> reported_;  ///< the last day whose report is published, or need not be
    std::optional<ReportUnderWay> report_;
    core::Lifetime lifetime_;
    fold::Fold fold_;  ///< first to go: it calls us
};

}  // namespace beckon::reliability
