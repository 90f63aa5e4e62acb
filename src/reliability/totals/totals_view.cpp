#include "reliability/totals/totals_view.hpp"

#include "records/events.hpp"

#include <utility>

namespace beckon::reliability {

TotalsView::TotalsView(const core::NodeId& node, fold::Fold::Context context)
    : state_(
          {.folder = "reliability", .inputs = {{log::Topic::kReliabilityTotals, 0}}, .node = node},
          {context.log, &context.publisher, context.executor, context.clock},
          {.apply = [this](auto, const core::RecordView& record) { apply(record); },
           .cleared = [this] { clear(); },
           .caught_up = [this] { caught_up(); }}) {
    state_.start();
}

TotalsView::~TotalsView() = default;

std::optional<core::MilestoneCounts> TotalsView::counts() const {
    const std::scoped_lock lock{mutex_};
    if (!complete_ || counts_.empty()) return std::nullopt;
    core::MilestoneCounts sum;
    for (const auto& [partition, reported] : counts_) {
        for (const auto milestone : core::kAllMilestones)
            sum[milestone] += reported.counts[milestone];
    }
    return sum;
}

Flow TotalsView::flow() const {
    const std::scoped_lock lock{mutex_};
    Flow sum;
    for (const auto& [partition, reported] : counts_) {
        for (const auto& [step, durations] : reported.flow) sum[step].add(durations);
    }
    return sum;
}

std::map<Step, std::uint64_t> TotalsView::refused() const {
    const std::scoped_lock lock{mutex_};
    std::map<Step, std::uint64_t> sum;
    for (const auto& [partition, reported] : counts_) {
        for (const auto& [step, count] : reported.refused) sum[step] += count;
    }
    return sum;
}

std::optional<Report> TotalsView::report(Day day) const {
    const std::scoped_lock lock{mutex_};
    const auto parts = reports_.find(day);
    if (parts == reports_.end()) return std::nullopt;
    Report sum;
    for (const auto& [partition, part] : parts->second) sum.add(part);
    return sum;
}

std::set<Day> TotalsView::days() const {
    const std::scoped_lock lock{mutex_};
    std::set<Day> days;
    for (const auto& [day, parts] : reports_) days.insert(day);
    return days;
}

bool TotalsView::complete() const {
    const std::scoped_lock lock{mutex_};
    return complete_;
}

// --- folding

void TotalsView::apply(const core::RecordView& record) {
    auto event = decode_totals(record);
    const std::scoped_lock lock{mutex_};
    std::visit(core::Overloaded{
                   [this](PartitionCounts&& counts) {
                       const auto partition = counts.partition;
                       counts_.insert_or_assign(partition, std::move(counts));
                   },
                   [this](const PartitionReport& report) {
                       reports_[report.day].insert_or_assign(report.partition, report.report);
                   },
                   [this](const ReportRemoved& removed) {
                       const auto parts = reports_.find(removed.day);
                       if (parts == reports_.end()) return;
                       parts->second.erase(removed.partition);
                       if (parts->second.empty()) reports_.erase(parts);
                   },
                   [](const NotTotals&) {},
               },
               std::move(event));
}

void TotalsView::clear() {
    const std::scoped_lock lock{mutex_};
    counts_.clear();
    reports_.clear();
    complete_ = false;
}

void TotalsView::caught_up() {
    const std::scoped_lock lock{mutex_};
    complete_ = true;
}

}  // namespace beckon::reliability
