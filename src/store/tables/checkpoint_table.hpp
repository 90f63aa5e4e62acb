#pragma once

#include "core/checkpoint.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "store/database.hpp"
#include "store/types.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <rocksdb/write_batch.h>

namespace beckon::store {

/// How far each partition's folds have come, as it stands on disk. All of it is read when the store
/// is opened, which fails if that fails: a checkpoint that could not be read must not pass for one
/// that is not there, since its partition would be deleted and restored. Thread-safe.
class CheckpointTable {
public:
    static FamilySpec family_spec() { return {"partitions", FamilyKind::plain}; }

    /// Errors: corrupt, unavailable.
    static core::Result<CheckpointTable> read(const Database& database);
    /// Whether it can be read. Errors: the same.
    static core::Result<void> check(const Database& database);

    std::optional<core::Checkpoint> find(core::Partition partition, Source source) const;

    /// Puts a row into a batch; committed() once that is written.
    void put(rocksdb::WriteBatch& batch, core::Partition partition, Source source,
             const core::Checkpoint& checkpoint) const;
    void committed(core::Partition partition, Source source, const core::Checkpoint& checkpoint);
    /// Both of a partition go.
    void erase(rocksdb::WriteBatch& batch, core::Partition partition) const;
    void erased(core::Partition partition);

private:
    using Key = std::pair<core::Partition, Source>;
    using Rows = std::map<Key, core::Checkpoint>;
    CheckpointTable(Family family, Rows rows);

    Family family_;
    std::unique_ptr<std::mutex> mutex_;  ///< guards rows_
    Rows rows_;
};

}  // namespace beckon::store
