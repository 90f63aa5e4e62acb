#include "store/folds/postponed_acks.hpp"

#include <algorithm>
#include <utility>

namespace beckon::store {

void PostponedAcks::add(const PendingTombstone& pending, core::Timestamp expiry) {
    const auto at = acks_.insert_or_assign(acks_.end(), pending.put_offset,
                                           Ack{.pending = pending, .expiry = expiry});
    by_name_.insert_or_assign({pending.uaid, pending.key}, at);
}

std::optional<PostponedAcks::Ack> PostponedAcks::take(const KeyName& name) {
    const auto known = by_name_.find(name);
    if (known == by_name_.end()) return std::nullopt;
    const auto at = known->second;
    std::optional<Ack> ack{std::move(at->second)};
    acks_.erase(at);
    by_name_.erase(known);
    return ack;
}

const PostponedAcks::Ack* PostponedAcks::find(const KeyName& name) const {
    const auto known = by_name_.find(name);
    return known == by_name_.end() ? nullptr : &known->second->second;
}

void PostponedAcks::merge_into(std::vector<PendingTombstone>& found,
                               const std::optional<PendingTombstone>& after,
                               std::size_t max) const {
    const auto middle = static_cast<std::ptrdiff_t>(found.size());
    auto ack = after ? acks_.upper_bound(after->put_offset) : acks_.begin();
    for (std::size_t added = 0; added < max && ack != acks_.end(); ++added, ++ack) {
        found.push_back(ack->second.pending);
    }
    std::inplace_merge(found.begin(), found.begin() + middle, found.end(),
                       [](const auto& a, const auto& b) { return a.put_offset < b.put_offset; });
    if (found.size() > max)
        found.erase(found.begin() + static_cast<std::ptrdiff_t>(max), found.end());
}

std::vector<KeyName> PostponedAcks::due(bool all) {
    std::vector<KeyName> names;
    for (auto& [offset, ack] : acks_) {
        if (std::exchange(ack.seen, true) || all)
            names.push_back({ack.pending.uaid, ack.pending.key});
    }
    return names;
}

void PostponedAcks::clear() {
    acks_.clear();
    by_name_.clear();
}

}  // namespace beckon::store
