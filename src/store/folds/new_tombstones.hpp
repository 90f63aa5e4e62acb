#pragma once

#include "store/types.hpp"

#include <cstddef>
#include <map>
#include <utility>

namespace beckon::store {

/// The pending tombstones that arose since they were last taken, a bounded number. One thread.
class NewTombstones {
public:
    /// A home that restores or stands by takes none; with more than so many, all are left out.
    static constexpr std::size_t kNewMax = 10'000;

    void add(const PendingTombstone& pending) {
        if (left_out_) return;
        new_.insert_or_assign(new_.end(), {pending.put_offset, pending.key}, pending);
        if (new_.size() <= kNewMax) return;
        new_.clear();
        left_out_ = true;
    }
    /// It is pending no more.
    void erase(core::Offset put_offset, const core::MessageKey& key) {
        new_.erase({put_offset, key});
    }
    NewPendingTombstones take() {
        NewPendingTombstones taken{.pending_tombstones = {},
                                   .left_out = std::exchange(left_out_, false)};
        taken.pending_tombstones.reserve(new_.size());
        for (auto& [place, pending] : new_) taken.pending_tombstones.push_back(std::move(pending));
        new_.clear();
        return taken;
    }
    void clear() {
        new_.clear();
        left_out_ = false;
    }

private:
    std::map<std::pair<core::Offset, core::MessageKey>, PendingTombstone> new_;
    bool left_out_ = false;
};

}  // namespace beckon::store
