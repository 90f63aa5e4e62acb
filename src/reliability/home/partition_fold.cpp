#include "reliability/home/partition_fold.hpp"

#include "records/events.hpp"

namespace beckon::reliability {

void PartitionFold::fold(const core::RecordView& record) {
    if (core::is_control_key(record.key) || broken_) return;
    totals_.pass(record.time);
    if (!decode(record, scratch_)) {
        totals_.count_unknown();
        return;
    }
    if (auto* const change = change_of(scratch_, record.time)) {
        apply(*change, scratch_, record.time);
    }
}

PartitionFold::Change* PartitionFold::change_of(const MilestonesReached& event,
                                                Timestamp appended) {
    const auto known = changes_.find(event.id);
    if (known != changes_.end()) return &known->second;
    const auto found = find_(event.id);
    if (!found) {
        broken_ = found.error();
        return nullptr;
    }
    const History fresh{event.expires, appended};
    return &changes_.emplace(event.id, Change{*found, found->value_or(fresh)}).first->second;
}

void PartitionFold::apply(Change& change, const MilestonesReached& event, Timestamp appended) {
    const bool known = change.after.current().has_value();
    const auto before = known ? std::optional{change.after} : std::nullopt;
    for (const auto& reached : event.reached) {
        const auto at = change.after.current();
        const auto effect = change.after.add(reached, event.expires, appended);
        if (effect == Effect::refused && at) {
            totals_.count_refused({*at, reached.milestone});
        } else {
            totals_.count(effect);
        }
    }
    totals_.changed(before, change.after);
}

void PartitionFold::reset() {
    changes_.clear();
    totals_ = {};
    broken_.reset();
}

}  // namespace beckon::reliability
