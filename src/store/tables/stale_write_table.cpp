#include "store/tables/stale_write_table.hpp"

#include "store/rows/schema.hpp"

#include <memory>
#include <string>

#include <rocksdb/iterator.h>

namespace beckon::store {

StaleWriteTable::StaleWriteTable(Database& database, core::Partition partition)
    : database_(database), partition_(partition), family_(database.family(family_spec().name)) {}

core::Result<void> StaleWriteTable::load() {
    const auto any = after(std::nullopt, 1);
    if (!any) return core::fail(any.error());
    maybe_any_ = !any->empty();
    return {};
}

/// Most partitions never have a row, and then a record that wins costs nothing here.
void StaleWriteTable::folded(const StaleWrite& what, bool won) {
    if (won && !maybe_any_) return;
    changes_.insert_or_assign(what, !won);
    maybe_any_ = true;
}

core::Result<std::vector<StaleWrite>> StaleWriteTable::after(const std::optional<StaleWrite>& after,
                                                             std::size_t max) const {
    std::vector<StaleWrite> found;
    const auto all = partition_range(partition_);
    const auto end = slice(all.end);
    const std::unique_ptr<rocksdb::Iterator> row{
        database_.db().NewIterator(scan_options(end), family_.get())};
    const auto first = after ? stale_write_row_key(partition_, *after) : all.begin;
    row->Seek(slice(first));
    if (after && row->Valid() && view(row->key()) == first) row->Next();
    auto change = after ? changes_.upper_bound(*after) : changes_.begin();
    while (found.size() < max && (row->Valid() || change != changes_.end())) {
        std::optional<StaleWrite> stored;
        if (row->Valid()) {
            stored = parse_stale_write(view(row->key()), view(row->value()));
            if (!stored) {
                return core::fail(undecodable(family_spec().name, database_.directory().string()));
            }
        }
        if (change == changes_.end() || (stored && *stored < change->first)) {
            found.push_back(*stored);
            row->Next();
            continue;
        }
        if (stored && *stored == change->first) row->Next();
        if (change->second) found.push_back(change->first);
        ++change;
    }
    if (row->status().ok()) return found;
    return core::fail(unreadable(row->status(), database_.directory().string()));
}

void StaleWriteTable::write_to(rocksdb::WriteBatch& batch) const {
    std::string value;
    append_stale_write(value);
    for (const auto& [what, is_stale] : changes_) {
        const auto key = stale_write_row_key(partition_, what);
        if (is_stale) {
            batch.Put(family_.get(), slice(key), slice(value));
        } else {
            batch.Delete(family_.get(), slice(key));
        }
    }
}

void StaleWriteTable::reset() {
    changes_.clear();
    maybe_any_ = false;
}

}  // namespace beckon::store
