#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/record.hpp"
#include "core/result.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <vector>

namespace beckon::retry {

/// The offsets from `begin` up to `end` without it.
struct OffsetRange {
    core::Offset begin = 0;
    core::Offset end = 0;
    bool operator==(const OffsetRange&) const = default;
};

/// The finished offsets of one tier's partition: everything below `low`, and the ranges above it.
struct Finished {
    core::Offset low = 0;
    std::vector<OffsetRange> above;  ///< ascending, none touches another or `low`
    bool operator==(const Finished&) const = default;
};

/// The finished records of a partition in all tiers: the record `done/<p>` of `retry.done`. It is
/// one record for one moment, so that a delivery never counts as promoted to a tier whose state in
/// it is older.
struct DoneRecord {
    core::Partition partition = 0;
    core::Epoch epoch = 0;                     ///< of the lease under which it was written
    std::vector<std::chrono::seconds> delays;  ///< the tier table by which the tiers were timed
    struct Tier {
        Finished finished;
        /// Records of this tier below it were promoted from records that are finished.
        core::Offset scan = 0;
        bool operator==(const Tier&) const = default;
    };
    std::map<int, Tier> tiers;
    core::Offset dead_scan = 0;    ///< likewise for `retry.dead`
    core::Offset events_next = 0;  ///< events below have been fanned out to the webhooks
    bool operator==(const DoneRecord&) const = default;
};

core::Record encode(const DoneRecord& done);
/// Errors: corrupt; not_found (another kind of key: leases and read barriers).
core::Result<DoneRecord> decode_done(const core::RecordView& record);

}  // namespace beckon::retry
