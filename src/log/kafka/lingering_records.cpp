#include "log/kafka/lingering_records.hpp"

#include "log/kafka/linger_time.hpp"

#include <iterator>
#include <utility>

namespace beckon::log::kafka {

using std::chrono::milliseconds;

namespace {

/// Neighbours have their moments a millisecond apart, so that their requests spread.
SteadyTime next_moment(SteadyTime now, milliseconds wait, core::Partition partition) {
    const auto past = (now.time_since_epoch() + milliseconds{partition}) % wait;
    return now + (wait - past);
}

void append(std::vector<Publishing>& out, std::vector<Publishing> records) {
    out.insert(out.end(), std::make_move_iterator(records.begin()),
               std::make_move_iterator(records.end()));
}

}  // namespace

bool LingeringRecords::hold(Publishing& one, SteadyTime now) {
    traffic_.count(1, now);
    const auto wait = linger_time(traffic_.per_second(now));
    const std::scoped_lock lock{mutex_};
    auto group = groups_.find(one.where);
    if (group == groups_.end()) {
        if (wait == milliseconds{0}) return false;
        const auto due = next_moment(now, wait, one.where.partition);
        group = groups_.emplace(one.where, Group{due, {}}).first;
    }
    group->second.records.push_back(std::move(one));
    ++held_;
    return true;
}

std::vector<Publishing> LingeringRecords::take_due(SteadyTime now) {
    std::vector<Publishing> out;
    const std::scoped_lock lock{mutex_};
    const bool full = held_ >= kLingeringMax;
    for (auto group = groups_.begin(); group != groups_.end();) {
        const auto at = group++;
        if (!full && at->second.due > now) continue;
        append(out, std::move(at->second.records));
        groups_.erase(at);
    }
    held_ -= out.size();
    return out;
}

std::vector<Publishing> LingeringRecords::take_all() { return take_due(SteadyTime::max()); }

bool LingeringRecords::empty() const {
    const std::scoped_lock lock{mutex_};
    return groups_.empty();
}

}  // namespace beckon::log::kafka
