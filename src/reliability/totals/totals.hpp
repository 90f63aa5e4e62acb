#pragma once

#include "core/enum_names.hpp"
#include "core/partition.hpp"
#include "core/record.hpp"
#include "reliability/history/flow.hpp"
#include "reliability/totals/report.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// The events of the log topic `reliability.totals`, by which the homes of the role publish
/// their counts. Pure.
namespace beckon::reliability {

/// Milestones that went through a fold, by outcome.
struct Tally {
    core::ByEnum<Effect, std::uint64_t> effects{};
    std::uint64_t unknown_records = 0;  ///< records without a readable milestone
    /// A step that the diagram does not allow: from the message's furthest milestone to the refused
    /// one.
    std::map<Step, std::uint64_t> refused;
    bool operator==(const Tally&) const = default;
};

/// The sums over all messages of one partition, kept up with every change of a history. Each
/// message counts at one milestone, so that no count is ever negative: at a terminal milestone for
/// the last day (by the log's time, in slots of five minutes), at any other as long as the message
/// lives.
class Totals {
public:
    static constexpr std::chrono::minutes kSlot{5};
    static constexpr std::chrono::hours kWindow{24};

    /// A message's history has changed; `before` is nullopt for one that was not known.
    void changed(const std::optional<History>& before, const History& after);
    void count(Effect effect);
    void count_refused(Step step);
    void count_unknown();
    /// Takes the newest append time, and drops parts older than the window, an hour later.
    void pass(Timestamp appended);

    /// At `now`, by the log's time.
    core::MilestoneCounts counts(Timestamp now) const;
    /// Steps that ended within about the last day, by the reporters' clocks: the present hour and
    /// the 24 before it.
    Flow flow(Timestamp now) const;
    const Tally& tally() const { return tally_; }

    /// The rows that have changed since rows_written(): name and bytes; no bytes: delete it. The
    /// name identifies the part in the row.
    using Rows = std::vector<std::pair<std::string, std::optional<std::string>>>;
    Rows changed_rows() const;
    void rows_written() { dirty_.clear(); }
    bool dirty() const { return !dirty_.empty(); }
    /// Restores a row at a start; false for one that no changed_rows() made.
    bool restore(std::string_view name, std::string_view bytes);

    /// Compares kept entries; rows that wait to be written do not count.
    bool operator==(const Totals& other) const {
        return live_ == other.live_ && ended_ == other.ended_ && flow_ == other.flow_ &&
               tally_ == other.tally_;
    }

private:
    using Slot = std::int64_t;  ///< since the epoch
    using Hour = std::int64_t;

    void subtract(const History& history);
    void put_in(const History& history);
    bool kept(Hour hour) const;
    template <class Map>
    void drop(Map& parts, char kind, std::int64_t least);

    core::ByMilestone<std::uint64_t> live_;
    std::map<Slot, core::ByMilestone<std::uint64_t>> ended_;
    std::map<Hour, Flow> flow_;
    Tally tally_;
    Timestamp newest_{};
    std::set<std::pair<char, std::int64_t>> dirty_;  ///< kind of a part, and its slot or hour
};

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
