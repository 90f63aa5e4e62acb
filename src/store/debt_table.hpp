#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "store/database.hpp"
#include "store/edge_store.hpp"

#include <cstddef>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <rocksdb/write_batch.h>

namespace beckon::store {

/// One partition's debts (docs/design.md#debts): all of them in memory, since they are asked for
/// with every tombstone and few at a time, and in the family `owed` as far as they outlive a
/// commit. One thread.
class DebtTable {
public:
    DebtTable(Database& database, core::Partition partition);

    /// Reads the family; at open. Errors: corrupt.
    core::Result<void> load();

    /// nullptr: nothing is owed for the key.
    const Debt* find(const core::MessageKey& key) const;
    void add(const Debt& debt);
    /// Its tombstone was read. False if nothing was owed.
    bool pay(const core::MessageKey& key);

    /// Up to `max` behind `after`, ascending by put_offset.
    std::vector<Debt> after(const std::optional<Debt>& after, std::size_t max) const;
    /// Those unpaid that were added since the last call.
    NewDebts take_new();
    std::size_t size() const { return debts_.size(); }

    void write_to(rocksdb::WriteBatch& batch) const;
    std::size_t changed_rows() const { return unwritten_.size() + erased_.size(); }
    void committed();
    void suspect();
    void reset();

private:
    struct Entry {
        Debt debt;
        bool in_table = false;  ///< the table may hold it
    };

    Database& database_;
    const core::Partition partition_;
    const Family family_;
    std::unordered_map<core::MessageKey, Entry> debts_;
    std::set<std::pair<core::Offset, core::MessageKey>> in_order_;  ///< the same, by put
    std::vector<core::MessageKey> new_;               ///< since take_new(), paid ones included
    bool too_many_new_ = false;                       ///< new_ was dropped
    std::unordered_set<core::MessageKey> unwritten_;  ///< since the last commit, unpaid
    std::vector<std::pair<core::Uaid, core::MessageKey>> erased_;  ///< in the table, paid by now
};

}  // namespace beckon::store
