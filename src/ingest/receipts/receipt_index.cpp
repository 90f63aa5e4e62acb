#include "ingest/receipts/receipt_index.hpp"

#include <algorithm>
#include <utility>

namespace beckon::ingest {

bool ReceiptIndex::add(core::Partition partition, const core::ReceiptId& subscription,
                       Entry entry) {
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

void ReceiptIndex::forget_oldest() {
    const auto [partition, subscription] = order_.front();
    order_.pop_front();
    const auto found = entries_.find(subscription);
    forgotten_[partition] = found->second.front().offset;
    found->second.pop_front();
    if (found->second.empty()) entries_.erase(found);
}

std::vector<ReceiptIndex::Entry> ReceiptIndex::after(const core::ReceiptId& subscription,
                                                     core::Offset after, std::size_t max) const {
    std::vector<Entry> out;
    const auto found = entries_.find(subscription);
    if (found == entries_.end()) return out;
    const auto& entries = found->second;
    auto next = std::upper_bound(entries.begin(), entries.end(), after,
                                 [](auto offset, const auto& one) { return offset < one.offset; });
    for (; next != entries.end() && out.size() < max; ++next) out.push_back(*next);
    return out;
}

bool ReceiptIndex::complete(core::Partition partition, core::Offset after) const {
    const auto found = forgotten_.find(partition);
    return found == forgotten_.end() || found->second <= after;
}

}  // namespace beckon::ingest
