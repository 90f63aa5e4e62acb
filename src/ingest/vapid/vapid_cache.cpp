#include "ingest/vapid/vapid_cache.hpp"

namespace beckon::ingest {

void VapidCache::unlink(std::uint32_t at) {
    const auto& entry = entries_[at];
    auto& list = list_of(at);
    (entry.newer == kNone ? list.newest : entries_[entry.newer].older) = entry.older;
    (entry.older == kNone ? list.oldest : entries_[entry.older].newer) = entry.newer;
    --list.size;
}

void VapidCache::push_newest(std::uint32_t at, Segment segment) {
    auto& list = lists_[segment];
    entries_[at].segment = segment;
    entries_[at].newer = kNone;
    entries_[at].older = list.newest;
    (list.newest == kNone ? list.oldest : entries_[list.newest].newer) = at;
    list.newest = at;
    ++list.size;
}

std::optional<VapidCache::Verified> VapidCache::find(const Digest& digest) {
    const auto found = index_.find(digest);
    if (found == index_.end()) return std::nullopt;
    unlink(found->second);
    push_newest(found->second, kProven);
    auto& proven = lists_[kProven];
    if (proven.size > proven_max_) {  // it has one more chance among the new ones
        const auto oldest = proven.oldest;
        unlink(oldest);
        push_newest(oldest, kNew);
    }
    return entries_[found->second].verified;
}

void VapidCache::make_capacity() {
    if (index_.size() < entries_max_) return;
    const auto& fresh = lists_[kNew];
    const auto oldest = fresh.size > 0 ? fresh.oldest : lists_[kProven].oldest;
    erase(Digest{entries_[oldest].digest});
}

std::uint32_t VapidCache::free_slot() {
    if (free_.empty()) {
        entries_.emplace_back();
        return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    const auto at = free_.back();
    free_.pop_back();
    return at;
}

void VapidCache::put(const Digest& digest, const Verified& verified) {
    if (entries_max_ == 0) return;
    erase(digest);
    make_capacity();
    const auto at = free_slot();
    entries_[at].digest = digest;
    entries_[at].verified = verified;
    push_newest(at, kNew);
    index_.emplace(digest, at);
}

void VapidCache::erase(const Digest& digest) {
    const auto found = index_.find(digest);
    if (found == index_.end()) return;
    unlink(found->second);
    free_.push_back(found->second);
    index_.erase(found);
}

}  // namespace beckon::ingest
