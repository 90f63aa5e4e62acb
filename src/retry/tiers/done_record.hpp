#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/record.hpp"
#include "core/result.hpp"
#include "retry/tiers/done_tracker.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <vector>

namespace beckon::retry {

/// The log's record of the fan-out of a partition's events, so that an event that crashes the
/// process is found (EventFanOut).
struct FanOutState {
    /// Somebody fans out, or ended without saying so.
    bool open = false;
    /// Events that are taken only since the log knows of it: `from` up to `to`.
    struct Trial {
        core::Offset from = 0;
        core::Offset to = 0;
        int times = 0;  ///< how often these events were on trial, with this one
        bool operator==(const Trial&) const = default;
    };
    std::optional<Trial> trial{};
    std::vector<core::Offset> set_aside{};  ///< of the last events those that ended processes
    bool operator==(const FanOutState&) const = default;
};

/// What is finished of a partition, all tiers together: the record `done/<p>` of `retry.done`. One
/// record, so that it says one moment: a delivery never counts as promoted to a tier that the
/// record has not caught up with.
struct DoneRecord {
    core::Partition partition = 0;
    core::Epoch epoch = 0;                     ///< of the lease under which it was written
    std::vector<std::chrono::seconds> delays;  ///< the tier table by which the tiers were timed
    struct Tier {
        Finished finished;
        /// Whatever was promoted to this tier before it came from records that are finished.
        core::Offset scan = 0;
        bool operator==(const Tier&) const = default;
    };
    std::map<int, Tier> tiers;
    core::Offset dead_scan = 0;    ///< the same for `retry.dead`
    core::Offset events_next = 0;  ///< events below have been fanned out to the webhooks
    FanOutState fan_out{};
    bool operator==(const DoneRecord&) const = default;
};

core::Record encode(const DoneRecord& done);
/// Errors: corrupt; not_found (another kind of key: leases and read barriers).
core::Result<DoneRecord> decode_done(const core::RecordView& record);

}  // namespace beckon::retry
