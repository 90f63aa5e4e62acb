#include "store/tables/stale_write_table.hpp"

#include "store/rows/schema.hpp"
#include "store/tables/row_changes.hpp"

#include <memory>
#include <string>

namespace beckon::store {

StaleWriteTable::StaleWriteTable(Database& database, core::Partition partition)
    : database_(database), partition_(partition), family_(database.family(family_spec().name)) {}

core::Result<void> StaleWriteTable::load() {
    const auto any = page_after(std::nullopt, 1);
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

core::Result<std::vector<StaleWrite>> StaleWriteTable::page_after(
    const std::optional<StaleWrite>& after, std::size_t max) const {
    ChangedRows<StaleWrite, std::map<StaleWrite, bool>> rows{
        changes_, after ? changes_.upper_bound(*after) : changes_.begin(), max,
        [](const StaleWrite& stored) { return stored; },
        [](const auto& change) {
            return change.second ? std::optional{change.first} : std::nullopt;
        }};
    const auto range = after ? range_behind(partition_, stale_write_row_key(partition_, *after))
                             : partition_range(partition_);
    const auto read =
        database_.each_row(family_, range, parse_stale_write,
                           [&](const StaleWrite& stored) { return rows.add(stored); });
    if (!read) return core::fail(read.error());
    return rows.finish();
}

void StaleWriteTable::write_to(rocksdb::WriteBatch& batch) const {
    BatchRows rows{batch, family_};
    for (const auto& [what, is_stale] : changes_) {
        rows.add(stale_write_row_key(partition_, what),
                 is_stale ? std::optional{what} : std::nullopt,
                 [](std::string& value, const StaleWrite&) { append_stale_write(value); });
    }
}

void StaleWriteTable::reset() {
    changes_.clear();
    maybe_any_ = false;
}

}  // namespace beckon::store
