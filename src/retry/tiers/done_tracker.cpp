#include "retry/tiers/done_tracker.hpp"

#include "core/assert.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace beckon::retry {

using core::Offset;

namespace {

/// Adds a range behind those that are there; empty ones vanish and touching ones become one.
void append(std::vector<OffsetRange>& ranges, OffsetRange range) {
    if (range.begin >= range.end) return;
    if (!ranges.empty() && range.begin <= ranges.back().end) {
        ranges.back().end = std::max(ranges.back().end, range.end);
    } else {
        ranges.push_back(range);
    }
}

}  // namespace

DoneTracker::DoneTracker(Finished from)
    : low_(from.low), next_(from.low), earlier_(std::move(from.above)) {}

bool DoneTracker::is_finished(Offset offset) const {
    if (offset < next_) return !open_.contains(offset);
    const auto after = std::upper_bound(earlier_.begin(), earlier_.end(), offset,
                                        [](Offset o, const OffsetRange& r) { return o < r.begin; });
    return after != earlier_.begin() && offset < std::prev(after)->end;
}

void DoneTracker::open(Offset offset) {
    BECKON_ASSERT(offset >= next_, "records are read in order");
    changed_ = true;
    open_.insert(open_.end(), offset);
    read_up_to(offset + 1);
}

void DoneTracker::read_up_to(Offset next) {
    if (next <= next_) return;
    changed_ = true;
    next_ = next;
    std::erase_if(earlier_, [&](const OffsetRange& range) { return range.end <= next_; });
}

bool DoneTracker::finish(Offset offset) {
    if (open_.erase(offset) == 0) return false;
    changed_ = true;
    return true;
}

Offset DoneTracker::low() const {
    if (!open_.empty()) return *open_.begin();
    const bool goes_on = !earlier_.empty() && earlier_.front().begin <= next_;
    return goes_on ? earlier_.front().end : next_;
}

Finished DoneTracker::finished() const {
    std::vector<OffsetRange> ranges;
    Offset begin = low_;
    for (const auto offset : open_) {
        append(ranges, {begin, offset});
        begin = offset + 1;
    }
    append(ranges, {begin, next_});
    for (const auto& range : earlier_) append(ranges, range);

    Finished all{.low = open_.empty() ? next_ : *open_.begin(), .above = {}};
    for (const auto& range : ranges) {
        if (range.begin <= all.low) {
            all.low = std::max(all.low, range.end);
        } else {
            all.above.push_back(range);
        }
    }
    return all;
}

}  // namespace beckon::retry
