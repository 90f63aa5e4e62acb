#pragma once

#include "core/partition.hpp"
#include "core/record.hpp"
#include "reliability/totals/report.hpp"
#include "reliability/totals/totals.hpp"

#include <string_view>
#include <variant>

/// The events of the log topic `reliability.totals`, by which the homes of the role publish
/// their counts. Pure.
namespace beckon::reliability {

inline constexpr std::string_view kCountsType = "beckon.counts.v1";
inline constexpr std::string_view kReportType = "beckon.report.v1";

/// beckon.counts.v1, key `counts/<partition>`: how many messages are where. The latest counts.
struct PartitionCounts {
    core::Partition partition = 0;
    Timestamp at{};  ///< by the log's time
    core::MilestoneCounts counts;
    Flow flow;  ///< of about the last day
    std::map<Step, std::uint64_t> refused;
    bool operator==(const PartitionCounts&) const = default;
};

/// beckon.report.v1, key `report/<day>/<partition>`: a partition's part of the report of a day.
struct PartitionReport {
    Day day{};
    core::Partition partition = 0;
    Report report;
    bool operator==(const PartitionReport&) const = default;
};

/// The report is forgotten: it was kept for as long as reports are.
struct ReportRemoved {
    Day day{};
    core::Partition partition = 0;
    bool operator==(const ReportRemoved&) const = default;
};

/// Anything else, read barriers included.
struct NotTotals {
    bool operator==(const NotTotals&) const = default;
};

using TotalsEvent = std::variant<PartitionCounts, PartitionReport, ReportRemoved, NotTotals>;

core::Record encode(const PartitionCounts& event);
core::Record encode(const PartitionReport& event);
core::Record encode(const ReportRemoved& event);
TotalsEvent decode_totals(const core::RecordView& record);

}  // namespace beckon::reliability
