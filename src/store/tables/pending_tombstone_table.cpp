#include "store/tables/pending_tombstone_table.hpp"

#include "store/rows/schema.hpp"

#include <memory>
#include <string>

#include <rocksdb/iterator.h>

namespace beckon::store {

namespace {

/// A home that restores or stands by does not take new pending tombstones; beyond this many they
/// are no longer remembered as new.
constexpr std::size_t kNewMax = 10'000;

}  // namespace

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
    remember_new(place, pending);
}

void PendingTombstoneTable::postpone(const PendingTombstone& pending) {
    const OffsetAndKey place{pending.put_offset, pending.key};
    postponed_.insert_or_assign(place, pending);
    remember_new(place, pending);
}

void PendingTombstoneTable::resume(core::Offset put_offset, const core::MessageKey& key) {
    const auto pending = postponed_.extract({put_offset, key});
    changes_[pending.key()].pending = pending.mapped();
}

void PendingTombstoneTable::remember_new(const OffsetAndKey& place,
                                         const PendingTombstone& pending) {
    ++size_;
    if (new_left_out_) return;
    new_.insert_or_assign(place, pending);
    if (new_.size() <= kNewMax) return;
    new_.clear();
    new_left_out_ = true;
}

void PendingTombstoneTable::erase(core::Offset put_offset, const core::MessageKey& key) {
    const OffsetAndKey place{put_offset, key};
    new_.erase(place);
    --size_;
    const auto [it, added] = changes_.try_emplace(place);
    if (added) it->second.in_table = true;  // the table was not read
    if (it->second.in_table) {
        it->second.pending.reset();
    } else {
        changes_.erase(it);
    }
}

PendingTombstoneTable::Changes PendingTombstoneTable::changes_with_postponed() const {
    auto all = changes_;
    for (const auto& [place, pending] : postponed_) all[place].pending = pending;
    return all;
}

core::Result<std::vector<PendingTombstone>> PendingTombstoneTable::after(
    const std::optional<PendingTombstone>& after, std::size_t max) const {
    std::vector<PendingTombstone> found;
    const auto merged = postponed_.empty() ? Changes{} : changes_with_postponed();
    const auto& changes = postponed_.empty() ? changes_ : merged;
    const auto path = [this] { return database_.directory().string(); };
    const auto all = partition_range(partition_);
    const auto end = slice(all.end);
    const std::unique_ptr<rocksdb::Iterator> row{
        database_.db().NewIterator(scan_options(end), family_.get())};
    auto change = changes.begin();
    if (after) {
        const auto key = pending_tombstone_row_key(partition_, after->put_offset, after->key);
        row->Seek(slice(key.view()));
        if (row->Valid() && view(row->key()) == key.view()) row->Next();
        change = changes.upper_bound({after->put_offset, after->key});
    } else {
        row->Seek(slice(all.begin));
    }
    while (found.size() < max && (row->Valid() || change != changes.end())) {
        std::optional<PendingTombstone> stored;
        if (row->Valid()) {
            stored = parse_pending_tombstone(view(row->key()), view(row->value()));
            if (!stored) return core::fail(undecodable(family_spec().name, path()));
        }
        const bool changed =
            change != changes.end() &&
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

NewPendingTombstones PendingTombstoneTable::take_new() {
    NewPendingTombstones taken{.pending_tombstones = {},
                               .left_out = std::exchange(new_left_out_, false)};
    taken.pending_tombstones.reserve(new_.size());
    for (const auto& [place, pending] : new_) taken.pending_tombstones.push_back(pending);
    new_.clear();
    return taken;
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
    postponed_.clear();
    new_.clear();
    new_left_out_ = false;
    size_ = 0;
}

}  // namespace beckon::store
