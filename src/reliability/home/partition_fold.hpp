#pragma once

#include "core/record.hpp"
#include "core/result.hpp"
#include "reliability/history/history.hpp"
#include "reliability/history/milestone_codec.hpp"
#include "reliability/totals/totals.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace beckon::reliability {

/// Folds the milestones of one partition. Changed histories stay here until they are committed;
/// `Find` reads the others from a table. No clock, no I/O of its own.
class PartitionFold {
public:
    /// A history as it was last committed. Errors: the row cannot be read back.
    using Find = std::function<core::Result<std::optional<History>>(std::string_view id)>;

    explicit PartitionFold(Find find) : find_(std::move(find)) {}

    /// The next record, read barriers included.
    void fold(const core::RecordView& record);

    /// A history that has changed since the last commit.
    struct Change {
        std::optional<History> before;  ///< as last committed
        History after;
    };
    using Changes = std::unordered_map<std::string, Change>;
    const Changes& changes() const { return changes_; }
    Totals& totals() { return totals_; }
    const Totals& totals() const { return totals_; }

    /// Set once find() has failed: all changes since the last commit are void.
    const std::optional<core::Error>& broken() const { return broken_; }

    bool dirty() const { return !changes_.empty() || totals_.dirty(); }
    /// The table has all changes.
    void committed() {
        changes_.clear();
        totals_.rows_written();
    }
    /// Back to nothing.
    void reset();

private:
    Change* change_of(const MilestonesReached& event, Timestamp appended);
    void apply(Change& change, const MilestonesReached& event, Timestamp appended);

    const Find find_;
    Changes changes_;
    Totals totals_;
    std::optional<core::Error> broken_;
    MilestonesReached scratch_;
};

}  // namespace beckon::reliability
