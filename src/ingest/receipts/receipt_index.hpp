#pragma once

#include "core/clock.hpp"
#include "records/receipt.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>
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
    bool add(core::Partition partition, const core::ReceiptId& subscription, Entry entry) {
        auto& entries = entries_[subscription];
        const auto newest = entries.size() - std::min(entries.size(), kReadBack);
        const bool known =
            std::any_of(entries.begin() + static_cast<std::ptrdiff_t>(newest), entries.end(),
                        [&](const auto& one) { return one.message_id == entry.message_id; });
        if (known) return false;
        entries.push_back(std::move(entry));
        order_.push_back({partition, subscription});
        if (order_.size() > entries_max_) forget_oldest();
        return true;
    }
    /// Forgets all of the partition: its outcomes come again from the first.
    void clear(core::Partition partition) {
        std::erase_if(order_, [&](const Place& place) {
            if (place.partition != partition) return false;
            entries_.erase(place.subscription);
            return true;
        });
        forgotten_.erase(partition);
    }
    /// Up to `max` behind `after`, ascending.
    std::vector<Entry> after(const core::ReceiptId& subscription, core::Offset after,
                             std::size_t max) const {
        std::vector<Entry> out;
        const auto found = entries_.find(subscription);
        if (found == entries_.end()) return out;
        const auto& entries = found->second;
        auto next =
            std::upper_bound(entries.begin(), entries.end(), after,
                             [](auto offset, const auto& one) { return offset < one.offset; });
        for (; next != entries.end() && out.size() < max; ++next) out.push_back(*next);
        return out;
    }
    /// Nothing of this partition behind `after` was forgotten for the bound.
    bool complete(core::Partition partition, core::Offset after) const {
        const auto found = forgotten_.find(partition);
        return found == forgotten_.end() || found->second <= after;
    }

private:
    struct Place {
        core::Partition partition;
        core::ReceiptId subscription;
    };
    void forget_oldest() {
        const auto [partition, subscription] = order_.front();
        order_.pop_front();
        const auto found = entries_.find(subscription);
        forgotten_[partition] = found->second.front().offset;
        found->second.pop_front();
        if (found->second.empty()) entries_.erase(found);
    }

    const std::size_t entries_max_;
    std::map<core::ReceiptId, std::deque<Entry>> entries_;
    std::deque<Place> order_;                            ///< one for each entry, oldest first
    std::map<core::Partition, core::Offset> forgotten_;  ///< the highest of each partition
};

}  // namespace beckon::ingest
