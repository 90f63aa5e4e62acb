#include "ingest/vapid/vapid_cache.hpp"

namespace beckon::ingest {

void VapidCache::unlink(std::uint32_t at) {
    const auto& entry = entries_[at];
    (entry.newer == kNone ? newest_ : entries_[entry.newer].older) = entry.older;
    (entry.older == kNone ? oldest_ : entries_[entry.older].newer) = entry.newer;
}

void VapidCache::push_newest(std::uint32_t at) {
    entries_[at].newer = kNone;
    entries_[at].older = newest_;
    (newest_ == kNone ? oldest_ : entries_[newest_].newer) = at;
    newest_ = at;
}

std::optional<VapidCache::Verified> VapidCache::find(const Digest& digest) {
    const auto found = index_.find(digest);
    if (found == index_.end()) return std::nullopt;
    unlink(found->second);
    push_newest(found->second);
    return entries_[found->second].verified;
}

void VapidCache::put(const Digest& digest, const Verified& verified) {
    if (entries_max_ == 0) return;
    erase(digest);
    if (index_.size() == entries_max_) erase(Digest{entries_[oldest_].digest});
    std::uint32_t at;
    if (free_.empty()) {
        at = static_cast<std::uint32_t>(entries_.size());
        entries_.emplace_back();
    } else {
        at = free_.back();
        free_.pop_back();
    }
    entries_[at].digest = digest;
    entries_[at].verified = verified;
    push_newest(at);
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
