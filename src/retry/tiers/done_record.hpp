#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/record.hpp"
#include "core/result.hpp"
#include "retry/tiers/done_tracker.hpp"

#include <chrono>
#include <map>
#include <vector>

namespace beckon::retry {

/// What is finished of a partition, all tiers together: the record `done/<p>` of `retry.done`. One
/// record, so that it says one moment: a delivery never counts as handed over to a tier that the
/// record has not caught up with.
struct DoneRecord {
    core::Partition partition = 0;
    core::Epoch epoch = 0;                     ///< of the lease under which it was written
    std::vector<std::chrono::seconds> delays;  ///< the tier table by which the tiers were timed
    struct Tier {
        Finished finished;
        /// Whatever was handed over to this tier before it came from records that are finished.
        core::Offset scan = 0;
        bool operator==(const Tier&) const = default;
    };
    std::map<int, Tier> tiers;
    core::Offset dead_scan = 0;    ///< the same for `retry.dead`
    core::Offset events_next = 0;  ///< events below have been spread to the webhooks
    bool operator==(const DoneRecord&) const = default;
};

core::Record encode(const DoneRecord& done);
/// Errors: corrupt; not_found (another kind of key: leases and marks).
core::Result<DoneRecord> decode_done(const core::RecordView& record);

}  // namespace beckon::retry
