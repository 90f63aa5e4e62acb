#pragma once

#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/range_scan.hpp"
#include "reliability/home/partition_fold.hpp"
#include "reliability/totals/report.hpp"

#include <functional>
#include <memory>

namespace beckon::reliability {

/// Makes the report of a day again from the log topic itself, without stores and earlier reports:
/// folds each partition in memory from its start to its end at that moment, one after the other.
/// Made, used and destroyed on the executor's thread, on which it takes turns.
class ReportMaker {
public:
    /// Errors: as log::RangeScan.
    using Done = std::function<void(const core::Result<Report>&)>;

    /// `done` may destroy this.
    ReportMaker(Day day, core::Partition partitions, log::EventLog& log, core::Executor& executor,
                Done done);

private:
    void begin_partition();
    void read_until(core::Offset end);
    void end_partition();
    void finish(const core::Result<Report>& result);

    const Day day_;
    const core::Partition partitions_;
    log::EventLog& log_;
    core::Executor& executor_;
    const Done done_;
    core::Partition partition_ = 0;
    PartitionFold folded_;
    Report report_;
    core::Lifetime lifetime_;
    std::unique_ptr<log::RangeScan> scan_;
};

}  // namespace beckon::reliability
