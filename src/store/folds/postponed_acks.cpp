#include "store/folds/postponed_acks.hpp"

#include <algorithm>
#include <utility>

namespace beckon::store {

void PostponedAcks::add(const PendingTombstone& pending, core::Timestamp expiry) {
    acks_.insert_or_assign(pending.put_offset, Ack{.pending = pending, .expiry = expiry});
    offsets_.insert_or_assign({pending.uaid, pending.key}, pending.put_offset);
}

std::optional<PostponedAcks::Ack> PostponedAcks::take(const KeyName& name) {
    const auto known = offsets_.extract(name);
    if (known.empty()) return std::nullopt;
    return std::move(acks_.extract(known.mapped()).mapped());
}

const PostponedAcks::Ack* PostponedAcks::find(const KeyName& name) const {
    const auto known = offsets_.find(name);
    return known == offsets_.end() ? nullptr : &acks_.at(known->second);
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
    offsets_.clear();
}

}  // namespace beckon::store
