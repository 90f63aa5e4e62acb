#include "store/tables/pending_tombstone_table.hpp"

#include "store/rows/schema.hpp"

#include <memory>
#include <string>

#include <rocksdb/iterator.h>

namespace beckon::store {

PendingTombstoneTable::PendingTombstoneTable(Database& database, core::Partition partition)
    : database_(database), partition_(partition), family_(database.family(family_spec().name)) {}

core::Result<void> PendingTombstoneTable::load() {
    size_ = 0;
    const auto all = partition_range(partition_);
    const auto end = slice(all.end);
    const std::unique_ptr<rocksdb::Iterator> it{
        database_.db().NewIterator(scan_options(end), family_.get())};
    for (it->Seek(slice(all.begin)); it->Valid(); it->Next()) ++size_;
    if (it->status().ok()) return {};
    return core::fail(unreadable(it->status(), database_.directory().string()));
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
    std::string value;
    const auto status = database_.db().Get({}, family_.get(), slice(row_key.view()), &value);
    if (status.IsNotFound()) return std::nullopt;
    if (!status.ok()) return core::fail(unreadable(status, database_.directory().string()));
    auto found = parse_pending_tombstone(row_key.view(), value);
    if (!found) return core::fail(undecodable(family_spec().name, database_.directory().string()));
    return found;
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

core::Result<std::vector<PendingTombstone>> PendingTombstoneTable::after(
    const std::optional<PendingTombstone>& after, std::size_t max) const {
    std::vector<PendingTombstone> found;
    const auto path = [this] { return database_.directory().string(); };
    const auto all = partition_range(partition_);
    const auto end = slice(all.end);
    const std::unique_ptr<rocksdb::Iterator> row{
        database_.db().NewIterator(scan_options(end), family_.get())};
    auto change = changes_.begin();
    if (after) {
        const auto key = pending_tombstone_row_key(partition_, after->put_offset, after->key);
        row->Seek(slice(key.view()));
        if (row->Valid() && view(row->key()) == key.view()) row->Next();
        change = changes_.upper_bound({after->put_offset, after->key});
    } else {
        row->Seek(slice(all.begin));
    }
    while (found.size() < max && (row->Valid() || change != changes_.end())) {
        std::optional<PendingTombstone> stored;
        if (row->Valid()) {
            stored = parse_pending_tombstone(view(row->key()), view(row->value()));
            if (!stored) return core::fail(undecodable(family_spec().name, path()));
        }
        const bool changed =
            change != changes_.end() &&
            (!stored || change->first <= OffsetAndKey{stored->put_offset, stored->key});
        if (!changed) {
            found.push_back(*stored);
            row->Next();
            continue;
        }
        if (stored && change->first == OffsetAndKey{stored->put_offset, stored->key}) row->Next();
        if (change->second.pending) found.push_back(*change->second.pending);
        ++change;
    }
    if (!row->status().ok()) return core::fail(unreadable(row->status(), path()));
    return found;
}

void PendingTombstoneTable::write_to(rocksdb::WriteBatch& batch) const {
    std::string value;
    for (const auto& [place, change] : changes_) {
        const auto key = pending_tombstone_row_key(partition_, place.first, place.second);
        if (!change.pending) {
            batch.Delete(family_.get(), slice(key.view()));
            continue;
        }
        value.clear();
        append_pending_tombstone(value, *change.pending);
        batch.Put(family_.get(), slice(key.view()), slice(value));
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
