#pragma once

#include "core/record.hpp"
#include "edge/home/delivery/delivery.hpp"
#include "edge/home/delivery/pending_limit.hpp"
#include "edge/home/delivery/tombstone_outbox.hpp"
#include "edge/home/leadership.hpp"
#include "edge/home/registration/registrations.hpp"
#include "log/event_log.hpp"
#include "records/events.hpp"
#include "store/edge_store.hpp"

#include <cstdint>

namespace beckon::edge {

/// Folds the records of a partition's two log topics: each goes to the part of the home that it
/// concerns. A standby folds like a serving home, but only a serving home counts the ends of
/// messages.
class Replay {
public:
    /// All of it outlives this.
    struct Context {
        store::PartitionStore& store;
        Delivery& delivery;
        TombstoneOutbox& tombstone_outbox;
        PendingLimit& pending;
        Registrations& registrations;
        Leadership& leadership;
    };
    Replay(core::Partition partition, const Context& context)
        : partition_(partition), context_(context) {}

    /// A record of `notifications`.
    void notification(const core::RecordView& record);
    /// A record of `subscriptions`.
    void subscription(const core::RecordView& record);

    /// Since the home was made.
    struct Counts {
        std::uint64_t unknown = 0;  ///< of a type or key form that this build does not know
        /// Tombstones read while this home served.
        core::ByEnum<core::FinishReason, std::uint64_t> finished{};
    };
    const Counts& counts() const { return counts_; }

private:
    void folded(bool won) {
        if (!won) context_.registrations.repair_is_due();
    }
    bool is_repeated(const core::NotificationFinished& done);
    void count_finished(const core::NotificationFinished& done);
    void unknown(log::Topic topic, core::Offset offset, const core::Unknown& record);

    const core::Partition partition_;
    const Context context_;
    core::DecodeScratch scratch_;
    Counts counts_;
};

}  // namespace beckon::edge
