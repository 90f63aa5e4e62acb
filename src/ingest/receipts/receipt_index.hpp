#pragma once

#include "core/clock.hpp"
#include "records/receipt.hpp"

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace beckon::ingest {

/// The newest outcomes of each receipt subscription, a bounded number. Of one message that was
/// reported twice the first counts. Pure; one thread.
class ReceiptIndex {
public:
    /// Outcomes of a subscription among which a repeated one is recognised.
    static constexpr std::size_t kReadBack = 64;

    struct Entry {
        core::Offset offset = 0;  ///< in the subscription's partition of `events`
        core::Timestamp time{};
        std::string message_id;
        core::FinishReason reason = core::FinishReason::acked;
        bool operator==(const Entry&) const = default;
    };

    explicit ReceiptIndex(std::size_t entries_max) : entries_max_(entries_max) {}

    /// False: it was reported before.
    bool add(core::Partition partition, const core::ReceiptId& subscription, Entry entry);
    /// Up to `max` behind `after`, ascending.
    std::vector<Entry> after(const core::ReceiptId& subscription, core::Offset after,
                             std::size_t max) const;
    /// Nothing of this partition behind `after` was forgotten for the bound.
    bool complete(core::Partition partition, core::Offset after) const;

private:
    struct Place {
        core::Partition partition;
        core::ReceiptId subscription;
    };
    void forget_oldest();

    const std::size_t entries_max_;
    std::map<core::ReceiptId, std::deque<Entry>> entries_;
    std::deque<Place> order_;                            ///< one for each entry, oldest first
    std::map<core::Partition, core::Offset> forgotten_;  ///< the highest of each partition
};

}  // namespace beckon::ingest
