#include "reliability/home/milestone_home.hpp"

#include "core/logger.hpp"

#include <utility>

namespace beckon::reliability {

namespace {

/// The topic is cleaned by age alone: a checkpoint within it misses nothing, however old.
constexpr std::chrono::days kRetention{365};

constexpr log::TopicPartition kTotals{log::Topic::kReliabilityTotals, 0};

fold::Options fold_options(const MilestoneHome::Options& options) {
    fold::Options wanted;
    wanted.folder = "reliability";
    wanted.inputs = {{log::Topic::kReliability, options.partition}};
    wanted.node = options.node;
    wanted.group = "reliability";
    wanted.delete_retention = kRetention;
    return wanted;
}

}  // namespace

MilestoneHome::MilestoneHome(Options options, Context context, std::unique_ptr<PartitionRows> rows,
                             std::function<void()> progressed)
    : options_(std::move(options)),
      context_(context),
      rows_(std::move(rows)),
      progressed_(std::move(progressed)),
      folded_([this](std::string_view id) { return rows_->find(id); }),
      lifetime_(context.executor),
      fold_(fold_options(options_), context, *this) {
    restore();
    fold_.start();
}

MilestoneHome::~MilestoneHome() = default;

// --- folding

/// Rows that cannot be read are as good as none.
void MilestoneHome::restore() {
    folded_.reset();
    checkpoint_ = rows_->checkpoint();
    moved_ = false;
    if (const auto restored = rows_->restore(folded_); !restored) {
        core::log_error("reliability", "unreadable", {{"why", restored.error().message}});
        folded_.reset();
        checkpoint_.reset();  // so the fold clears the rows and begins at the log's start
    }
}

std::optional<core::Checkpoint> MilestoneHome::checkpoint(fold::InputIndex) const {
    return checkpoint_;
}

void MilestoneHome::replay(fold::InputIndex, const core::RecordView& record) {
    folded_.fold(record);
}

void MilestoneHome::advance(fold::InputIndex, core::Offset next,
                            std::optional<core::Timestamp> caught_up, core::Timestamp youngest) {
    const auto before = checkpoint_.value_or(core::Checkpoint{}).caught_up;
    const core::Checkpoint moved{next, caught_up.value_or(before), youngest};
    moved_ = moved_ || moved != checkpoint_;
    checkpoint_ = moved;
}

/// No record of the home depends on its rows being written: a home that is killed folds the last
/// second again.
bool MilestoneHome::dirty() const {
    const bool full = folded_.changes().size() >= kChangesMax || folded_.broken();
    return full || (due_ && (moved_ || folded_.dirty()));
}

core::Result<void> MilestoneHome::commit() {
    auto written = rows_->commit(folded_, checkpoint_.value_or(core::Checkpoint{}));
    if (written) moved_ = due_ = false;
    return written;
}

core::Result<void> MilestoneHome::clear() {
    if (auto cleared = rows_->clear(); !cleared) return cleared;
    folded_.reset();
    checkpoint_.reset();
    moved_ = false;
    return {};
}

void MilestoneHome::restarted(std::string_view why) {
    core::log_warn("reliability", "fold_restarted",
                   {{"partition", options_.partition}, {"why", why}});
    lifetime_.renew();
    expiring_ = 0;
    report_.reset();
    restore();
}

// --- publishing

void MilestoneHome::tick() {
    due_ = true;
    fold_.request_turn();
    if (!serves_ || !following()) return;
    expire();
    publish_counts();
    publish_reports();
}

void MilestoneHome::expire() {
    if (expiring_ > 0) return;
    const auto due = rows_->expired(now() - kExpiryGrace, kExpiredMax);
    if (!due) {
        core::log_error("reliability", "unreadable", {{"why", due.error().message}});
        return;
    }
    for (const auto& id : *due) {
        if (folded_.changes().contains(id)) continue;  // its row is about to be another one
        const auto history = rows_->find(id);
        if (!history || !*history) continue;
        const auto expires = (*history)->expires();
        ++expiring_;
        fold_.publisher().publish(
            {log::Topic::kReliability, options_.partition},
            encode(MilestonesReached{.id = id,
                                     .expires = expires,
                                     .source = options_.node.text,
                                     .reached = {{Milestone::expired, expires}}}),
            lifetime_.guard([this](const core::Result<log::Appended>& done) {
                // After a failure the message is still in the index, and is due again.
                if (!done) --expiring_;
                if (done)
                    fold_.when_folded(
                        0, done->offset,
                        lifetime_.guard([this](const core::Result<void>&) { --expiring_; }));
            }));
    }
}

PartitionCounts MilestoneHome::counts() const {
    const auto at = now();
    return {.partition = options_.partition,
            .at = at,
            .counts = folded_.totals().counts(at),
            .flow = folded_.totals().flow(at),
            .refused = folded_.totals().tally().refused};
}

void MilestoneHome::publish_counts() {
    const auto present = counts();
    if (notified_) {
        notified_->at = present.at;  // that time passes is nothing new
        if (*notified_ == present) return;
    }
    notified_ = present;
    publish_totals(encode(present), [this] { notified_.reset(); });
}

void MilestoneHome::publish_reports() {
    if (report_) return;
    // The last day that is over, and its late milestones are in.
    const auto last = day_of(now() - kReportGrace) - std::chrono::days{1};
    if (!reported_) reported_ = last - kReportsAtStart;
    if (*reported_ < last) start_report(*reported_ + std::chrono::days{1});
}

void MilestoneHome::start_report(Day day) {
    report_.emplace(ReportUnderWay{.day = day, .after = {}, .report = {}});
    go_on_with_report();
}

void MilestoneHome::go_on_with_report() {
    const auto ids = rows_->ended_on(report_->day, report_->after, kReportStep);
    if (!ids) {
        core::log_error("reliability", "unreadable", {{"why", ids.error().message}});
        report_.reset();
        return;
    }
    for (const auto& id : *ids) {
        const auto history = rows_->find(id);
        if (history && *history) report_->report.add(**history);
    }
    if (ids->size() == kReportStep) {
        report_->after = ids->back();
        context_.executor.post(lifetime_.guard([this] { go_on_with_report(); }));
        return;
    }
    const auto done = *std::exchange(report_, std::nullopt);
    reported_ = done.day;
    publish_totals(
        encode(PartitionReport{done.day, options_.partition, done.report}),
        [this, day = done.day] { reported_ = std::min(*reported_, day - std::chrono::days{1}); });
    publish_totals(encode(ReportRemoved{done.day - kReportsKept, options_.partition}), [] {});
}

/// `failed`: it is published again at the next tick.
void MilestoneHome::publish_totals(core::Record record, std::function<void()> failed) {
    context_.publisher.publish(
        kTotals, std::move(record),
        lifetime_.guard([failed = std::move(failed)](const core::Result<log::Appended>& done) {
            if (!done) failed();
        }));
}

}  // namespace beckon::reliability
