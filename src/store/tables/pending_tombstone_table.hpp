#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "store/database.hpp"
#include "store/types.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <rocksdb/write_batch.h>

namespace beckon::store {

/// One partition's pending tombstones in the order of their puts: the family `pending_tombstones`,
/// and in memory the changes since the last commit. Only few are in memory, however many there are.
/// The family `keys` (NotificationFold) has the offset for each key. One thread.
class PendingTombstoneTable {
public:
    PendingTombstoneTable(Database& database, core::Partition partition);
    static FamilySpec family_spec() { return {"pending_tombstones", FamilyKind::plain}; }

    /// Reads the family once, to count it. Errors: corrupt, unavailable.
    core::Result<void> load();

    /// A pending tombstone that is not there yet.
    void add(const PendingTombstone& pending);
    /// nullopt: there is none. Reads one row, unless it has changed since the last commit. Errors:
    /// corrupt, unavailable.
    core::Result<std::optional<PendingTombstone>> find(core::Offset put_offset,
                                                       const core::MessageKey& key) const;
    /// One that is there, with other values.
    void replace(const PendingTombstone& pending);
    /// Its tombstone was read, or another put of its key has taken its place.
    void erase(core::Offset put_offset, const core::MessageKey& key);

    /// Up to `max` behind `after`, ascending. Errors: corrupt, unavailable.
    core::Result<std::vector<PendingTombstone>> page_after(
        const std::optional<PendingTombstone>& after, std::size_t max) const;
    std::size_t size() const { return size_; }

    void write_to(rocksdb::WriteBatch& batch) const;
    std::size_t changed_rows() const { return changes_.size(); }
    /// The changes are written · a write failed: it is unknown which of them are in the table · the
    /// table is empty.
    void committed() { changes_.clear(); }
    void write_failed();
    void reset();

private:
    /// In the order of the rows.
    using OffsetAndKey = std::pair<core::Offset, core::MessageKey>;
    struct Change {
        std::optional<PendingTombstone> pending;  ///< nullopt: deleted
        bool in_table = false;                    ///< the table may hold the row
    };

    using Changes = std::map<OffsetAndKey, Change>;

    Database& database_;
    const core::Partition partition_;
    const Family family_;
    Changes changes_;
    std::size_t size_ = 0;
};

}  // namespace beckon::store
