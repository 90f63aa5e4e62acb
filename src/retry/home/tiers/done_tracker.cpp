#include "retry/home/tiers/done_tracker.hpp"

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

DoneTracker::DoneTracker(Finished from) : next_(from.low), earlier_(std::move(from.above)) {}

bool DoneTracker::is_finished(Offset offset) const {
    if (offset < next_) return !std::binary_search(open_.begin(), open_.end(), offset);
    const auto after = std::upper_bound(earlier_.begin(), earlier_.end(), offset,
                                        [](Offset o, const OffsetRange& r) { return o < r.begin; });
    return after != earlier_.begin() && offset < std::prev(after)->end;
}

void DoneTracker::open(Offset offset) {
    BECKON_ASSERT(offset >= next_, "records are read in order");
    changed_ = true;
    open_.push_back(offset);
    read_up_to(offset + 1);
}

void DoneTracker::read_up_to(Offset next) {
    if (next <= next_) return;
    changed_ = true;
    next_ = next;
    std::erase_if(earlier_, [&](const OffsetRange& range) { return range.end <= next_; });
}

bool DoneTracker::finish(Offset offset) {
    const auto found = std::lower_bound(open_.begin(), open_.end(), offset);
    if (found == open_.end() || *found != offset) return false;
    open_.erase(found);
    changed_ = true;
    return true;
}

Offset DoneTracker::low() const {
    if (!open_.empty()) return open_.front();
    const bool goes_on = !earlier_.empty() && earlier_.front().begin <= next_;
    return goes_on ? earlier_.front().end : next_;
}

Finished DoneTracker::finished() const {
    Finished all{.low = low(), .above = {}};
    all.above.reserve(open_.size() + 1 + earlier_.size());
    auto begin = all.low;
    for (const auto offset : open_) {
        append(all.above, {begin, offset});
        begin = offset + 1;
    }
    append(all.above, {begin, next_});
    for (const auto& range : earlier_) {
        if (range.end > all.low) append(all.above, range);
    }
    return all;
}

Offset DoneTracker::finished_above() const {
    const auto from = low();
    auto count = std::max<Offset>(0, next_ - from) - static_cast<Offset>(open_.size());
    for (const auto& range : earlier_) {
        count += std::max<Offset>(0, range.end - std::max({range.begin, next_, from}));
    }
    return count;
}

}  // namespace beckon::retry
