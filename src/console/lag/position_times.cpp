#include "console/lag/position_times.hpp"

#include <algorithm>
#include <iterator>

namespace beckon::console {

namespace {

/// The value at `part` of the way from `from` to `to`.
template <class T>
T between(T from, T to, double part) {
    return from + T(static_cast<typename T::rep>(static_cast<double>((to - from).count()) * part));
}

}  // namespace

void PositionTimes::learn(core::Offset offset, core::Timestamp time) {
    const auto at = std::ranges::lower_bound(samples_, offset, {}, &Sample::offset);
    if (at != samples_.begin()) time = std::max(time, std::prev(at)->time);
    if (at != samples_.end() && at->offset == offset) {
        if (std::next(at) != samples_.end()) {
            at->time = std::min(time, std::next(at)->time);
            return;
        }
        // The end does not move: the next record is appended later than now, and the last one was
        // there when the end was first seen here.
        const auto seen = at->time;
        at->time = std::max(seen, time);
        const bool known = at != samples_.begin() && std::prev(at)->offset == offset - 1;
        if (!known && at->time > seen) samples_.insert(at, {offset - 1, seen});
        if (samples_.size() > kSamplesMax) thin();
        return;
    }
    if (at != samples_.end()) time = std::min(time, at->time);
    samples_.insert(at, {offset, time});
    if (samples_.size() > kSamplesMax) thin();
}

void PositionTimes::thin() {
    std::vector<Sample> kept;
    const auto half = samples_.size() / 2;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
        if (i == 0 || i >= half || i % 2 == 0) kept.push_back(samples_[i]);
    }
    samples_ = std::move(kept);
}

std::optional<core::Timestamp> PositionTimes::at(core::Offset offset) const {
    const auto after = std::ranges::lower_bound(samples_, offset, {}, &Sample::offset);
    if (after == samples_.end()) {
        return samples_.empty() ? std::nullopt : std::optional{samples_.back().time};
    }
    if (after->offset == offset) return after->time;
    if (after == samples_.begin()) return std::nullopt;
    const auto before = std::prev(after);
    const auto part = static_cast<double>(offset - before->offset) /
                      static_cast<double>(after->offset - before->offset);
    return core::Timestamp{
        between(before->time.time_since_epoch(), after->time.time_since_epoch(), part)};
}

core::Offset PositionTimes::until(core::Timestamp time, core::Offset from,
                                  core::Offset offset) const {
    core::Offset low = from;
    core::Offset high = std::max(from, offset);
    while (low < high) {  // at() does not fall
        const auto middle = low + (high - low) / 2;
        const auto appended = at(middle);
        if (!appended || *appended <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low - from;
}

}  // namespace beckon::console
