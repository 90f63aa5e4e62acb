#include "store/tables/pending_tombstone_table.hpp"

#include "store/rows/schema.hpp"
#include "store/tables/row_changes.hpp"

#include <memory>
#include <string>

namespace beckon::store {

PendingTombstoneTable::PendingTombstoneTable(Database& database, core::Partition partition)
    : database_(database), partition_(partition), family_(database.family(family_spec().name)) {}

core::Result<void> PendingTombstoneTable::load() {
    size_ = 0;
    return database_.scan(family_, partition_range(partition_), [this](auto, auto) {
        ++size_;
        return true;
    });
}

void PendingTombstoneTable::add(const PendingTombstone& pending) {
    const OffsetAndKey place{pending.put_offset, pending.key};
    changes_[place].pending = pending;
    ++size_;
}

core::Result<std::optional<PendingTombstone>> PendingTombstoneTable::find(
    core::Offset put_offset, const core::MessageKey& key) const {
    if (const auto change = changes_.find({put_offset, key}); change != changes_.end()) {
        return change->second.pending;
    }
    const auto row_key = pending_tombstone_row_key(partition_, put_offset, key);
    return database_.get(family_, row_key.view(), [&](std::string_view value) {
        return parse_pending_tombstone(row_key.view(), value);
    });
}

void PendingTombstoneTable::replace(const PendingTombstone& pending) {
    const auto [it, added] = changes_.try_emplace({pending.put_offset, pending.key});
    if (added) it->second.in_table = true;
    it->second.pending = pending;
}

void PendingTombstoneTable::erase(core::Offset put_offset, const core::MessageKey& key) {
    const OffsetAndKey place{put_offset, key};
    --size_;
    const auto [it, added] = changes_.try_emplace(place);
    if (added) it->second.in_table = true;  // the table was not read
    if (it->second.in_table) {
        it->second.pending.reset();
    } else {
        changes_.erase(it);
    }
}

core::Result<std::vector<PendingTombstone>> PendingTombstoneTable::page_after(
    const std::optional<PendingTombstone>& after, std::size_t max) const {
    const auto place_of = [](const PendingTombstone& pending) {
        return OffsetAndKey{pending.put_offset, pending.key};
    };
    ChangedRows<PendingTombstone, Changes> rows{
        changes_, after ? changes_.upper_bound(place_of(*after)) : changes_.begin(), max, place_of,
        [](const auto& change) { return change.second.pending; }};
    const auto range =
        after ? range_behind(
                    partition_,
                    pending_tombstone_row_key(partition_, after->put_offset, after->key).view())
              : partition_range(partition_);
    const auto read = database_.each_row(family_, range, parse_pending_tombstone,
                                         [&](const auto& stored) { return rows.add(stored); });
    if (!read) return core::fail(read.error());
    return rows.finish();
}

void PendingTombstoneTable::write_to(rocksdb::WriteBatch& batch) const {
    BatchRows rows{batch, family_};
    for (const auto& [place, change] : changes_) {
        rows.add(pending_tombstone_row_key(partition_, place.first, place.second).view(),
                 change.pending, append_pending_tombstone);
    }
}

void PendingTombstoneTable::write_failed() {
    for (auto& [place, change] : changes_) change.in_table = true;
}

void PendingTombstoneTable::reset() {
    changes_.clear();
    size_ = 0;
}

}  // namespace beckon::store
