#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/range_scan.hpp"
#include "records/delivery.hpp"
#include "retry/event/event_cache.hpp"
#include "retry/owner_budget.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace beckon::retry {

/// Reads events that deliveries name, through the EventCache of the process. However many
/// deliveries want an event at a time, it is read once. Of each partition of `events` one range is
/// read at a time, and owners take turns at it; a range has what is wanted within the next
/// kRangeMax offsets. On the executor's thread, which it never blocks.
class EventReader {
public:
    static constexpr core::Offset kRangeMax = 16;

    /// null: the log has the event no more, or another record in its place. Errors: those of
    /// log::RangeScan that time may mend.
    using Done = std::function<void(const core::Result<EventText>&)>;

    EventReader(log::EventLog& log, core::Executor& executor, EventCache& cache)
        : log_(log), executor_(executor), cache_(cache) {}

    /// The event, if it is in memory; else null.
    EventText find(const EventPlace& place) const { return cache_.find(place); }
    /// `done` is called once, from a later turn, unless the reader is destroyed before. `owner`
    /// pays for it.
    void read(const EventPlace& place, const std::string& owner, Done done);

private:
    struct Wanted {
        EventPlace place;
        std::vector<Done> dones;
        bool begun = false;
        std::string owner;  ///< that the event is for, once it is read
        EventText text;
    };
    using Key = std::tuple<core::Offset, std::string>;  ///< offset and name
    struct OfPartition {
        std::map<Key, Wanted> wanted;
        OwnerBudget<Key, 0> line{kQuantum, {}};
        std::unique_ptr<log::RangeScan> scan;
    };
    static constexpr core::Duration kQuantum = std::chrono::milliseconds{1};

    void begin_next(core::Partition partition);
    void begin(core::Partition partition, OfPartition& of, core::Offset from);
    log::Next take(OfPartition& of, const core::RecordView& record) const;
    void ended(core::Partition partition, const core::Result<core::Offset>& read);

    log::EventLog& log_;
    core::Executor& executor_;
    EventCache& cache_;
    std::map<core::Partition, OfPartition> partitions_;
    core::Lifetime lifetime_{executor_};
};

}  // namespace beckon::retry
