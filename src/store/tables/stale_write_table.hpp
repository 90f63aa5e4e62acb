#pragma once

#include "core/partition.hpp"
#include "core/result.hpp"
#include "store/database.hpp"
#include "store/types.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include <rocksdb/write_batch.h>

namespace beckon::store {

/// The clients and channels of one partition whose last record in the log is one that lost. The
/// valid record stands before it, and compaction, which keeps the last record of a key, would keep
/// the wrong one (docs/design.md#late-writes). Memory holds the changes since the last commit. One
/// thread.
class StaleWriteTable {
public:
    StaleWriteTable(Database& database, core::Partition partition);
    static FamilySpec family_spec() { return {"stale_writes", FamilyKind::plain}; }

    /// Sees whether there is a row at all. Errors: corrupt, unavailable.
    core::Result<void> load();

    /// A record was folded: it won (or is the stored one), or lost.
    void folded(const StaleWrite& what, bool won);

    /// Up to `max` behind `after`, in the order of the keys. Errors: corrupt, unavailable.
    core::Result<std::vector<StaleWrite>> page_after(const std::optional<StaleWrite>& after,
                                                     std::size_t max) const;

    void write_to(rocksdb::WriteBatch& batch) const;
    std::size_t changed_rows() const { return changes_.size(); }
    /// The changes are written · uncommitted changes are void.
    void committed() { changes_.clear(); }
    void reset();

private:
    Database& database_;
    const core::Partition partition_;
    const Family family_;
    bool maybe_any_ = false;              ///< the table or the changes may hold a row
    std::map<StaleWrite, bool> changes_;  ///< false: deleted
};

}  // namespace beckon::store
