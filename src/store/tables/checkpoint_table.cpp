#include "store/tables/checkpoint_table.hpp"

#include "store/rows/schema.hpp"

#include <memory>
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/iterator.h>

namespace beckon::store {

CheckpointTable::CheckpointTable(Family family, Rows rows)
    : family_(std::move(family)), mutex_(std::make_unique<std::mutex>()), rows_(std::move(rows)) {}

core::Result<CheckpointTable> CheckpointTable::read(const Database& database) {
    const auto family = database.family(family_spec().name);
    Rows rows;
    const auto parse = [](std::string_view key, std::string_view value) {
        const auto name = parse_checkpoint_row_key(key);
        const auto checkpoint = parse_checkpoint(value);
        using Row = Rows::value_type;
        return name && checkpoint ? std::optional{Row{*name, *checkpoint}} : std::nullopt;
    };
    const auto read = database.each_row(family, kAllRows, parse, [&](Rows::value_type row) {
        return rows.insert(std::move(row)).second;
    });
    if (!read) return core::fail(read.error());
    return CheckpointTable{family, std::move(rows)};
}

core::Result<void> CheckpointTable::check(const Database& database) {
    if (const auto rows = read(database); !rows) return core::fail(rows.error());
    return {};
}

std::optional<core::Checkpoint> CheckpointTable::find(core::Partition partition,
                                                      Source source) const {
    const std::scoped_lock lock{*mutex_};
    const auto found = rows_.find({partition, source});
    return found == rows_.end() ? std::nullopt : std::optional{found->second};
}

void CheckpointTable::put(rocksdb::WriteBatch& batch, core::Partition partition, Source source,
                          const core::Checkpoint& checkpoint) const {
    std::string value;
    append_checkpoint(value, checkpoint);
    batch.Put(family_.get(), slice(checkpoint_row_key(partition, source)), slice(value));
}

void CheckpointTable::committed(core::Partition partition, Source source,
                                const core::Checkpoint& checkpoint) {
    const std::scoped_lock lock{*mutex_};
    rows_.insert_or_assign({partition, source}, checkpoint);
}

void CheckpointTable::erase(rocksdb::WriteBatch& batch, core::Partition partition) const {
    const auto range = partition_range(partition);
    batch.DeleteRange(family_.get(), slice(range.begin), slice(range.end));
}

void CheckpointTable::erased(core::Partition partition) {
    const std::scoped_lock lock{*mutex_};
    for (const auto source : {Source::notifications, Source::subscriptions}) {
        rows_.erase({partition, source});
    }
}

}  // namespace beckon::store
