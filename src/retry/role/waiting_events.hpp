#pragma once

#include "core/partition.hpp"
#include "retry/owner_budget.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace beckon::retry {

/// The events that this process has posted and that no process has fanned out yet, by partition and
/// owner. In each partition an owner may have a share of what is free (OwnerBudget), so that the
/// fan-out can read all of them ahead and let owners take turns: an owner's waiting events delay
/// the events behind them by their turns alone, however many there are. One thread.
class WaitingEvents {
public:
    /// The bound of a partition for all owners together; an owner who is alone gets up to four
    /// tenths of it. The fan-out reads ahead more than two processes may post (EventFanOut).
    static constexpr std::size_t kEventsMax = 1'024;
    static constexpr std::size_t kBytesMax = std::size_t{2} << 20;
    explicit WaitingEvents(core::Partition partitions)
        : partitions_(static_cast<std::size_t>(partitions)) {}

    /// Whether the owner may post one more event there.
    bool has_space(core::Partition partition, const std::string& owner) const {
        const auto& budget = of(partition).budget;
        return budget.has_share(owner, kEvents) && budget.has_share(owner, kBytes);
    }

    /// An event on its way to the log.
    struct Posted {
        core::Partition partition = 0;
        std::string owner;
        std::size_t bytes = 0;
    };
    /// The event counts from now on. appended() or failed() must follow.
    void post(const Posted& event) {
        auto& budget = of(event.partition).budget;
        budget.hold(event.owner, kEvents, 1);
        budget.hold(event.owner, kBytes, event.bytes);
    }
    /// The log has the event at this offset.
    void appended(const Posted& event, core::Offset at) {
        auto& here = of(event.partition);
        if (at < here.fanned_out) return release(event);  // the log's report comes late
        here.in_log.emplace(at, event);
    }
    /// The log did not confirm the event: it counts no more.
    void failed(const Posted& event) { release(event); }

    /// Events of the partition below `next` are fanned out.
    void fanned_out(core::Partition partition, core::Offset next) {
        auto& here = of(partition);
        here.fanned_out = std::max(here.fanned_out, next);
        while (!here.in_log.empty() && here.in_log.begin()->first < next) {
            const auto done = here.in_log.extract(here.in_log.begin());
            release(done.mapped());
        }
    }
    bool empty(core::Partition partition) const { return events(partition) == 0; }
    std::size_t events(core::Partition partition) const {
        return of(partition).budget.used(kEvents);
    }

private:
    void release(const Posted& event) {
        auto& budget = of(event.partition).budget;
        budget.give_back(event.owner, kBytes, event.bytes);
        budget.give_back(event.owner, kEvents, 1);
    }
    enum Held : std::size_t { kEvents, kBytes };
    struct OfPartition {
        OwnerBudget<NoWork, 2> budget{{{{kEventsMax}, {kBytesMax}}}};
        std::multimap<core::Offset, Posted> in_log;
        core::Offset fanned_out = 0;
    };
    OfPartition& of(core::Partition p) { return partitions_[static_cast<std::size_t>(p)]; }
    const OfPartition& of(core::Partition p) const {
        return partitions_[static_cast<std::size_t>(p)];
    }

    std::vector<OfPartition> partitions_;
};

}  // namespace beckon::retry
