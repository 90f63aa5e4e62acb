#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "store/database.hpp"
#include "store/rows/receipt_row.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include <rocksdb/write_batch.h>

namespace beckon::store {

/// The receivers of the outcomes of one partition's messages, from a message's put until its
/// tombstone is read. The family `receipts`, and in memory the changes since the last commit. While
/// no message has a receipt, find() costs nothing. One thread.
class ReceiptTable {
public:
    ReceiptTable(Database& database, core::Partition partition);
    static FamilySpec family_spec() { return {"receipts", FamilyKind::plain}; }

    /// Reads whether there are any. Errors: unavailable.
    core::Result<void> load();
    bool empty() const { return empty_; }

    // Errors of the following functions: corrupt, unavailable.

    /// Replaces the receipt that the message has, if there is one.
    core::Result<void> add(const core::MessageKey& key, Receipt receipt);
    core::Result<void> erase(const core::MessageKey& key);
    core::Result<std::optional<Receipt>> find(const core::MessageKey& key) const;
    /// Up to `max` whose expiry is not after `now`.
    core::Result<std::vector<core::MessageKey>> due(core::Timestamp now, std::size_t max) const;

    void write_to(rocksdb::WriteBatch& batch) const;
    std::size_t changed_rows() const { return changes_.size(); }
    /// The changes are written · a write failed: it is unknown which of them are in the table ·
    /// they are void.
    void committed() { changes_.clear(); }
    void write_failed();
    void reset() { changes_.clear(); }

private:
    struct Change {
        Receipt receipt;
        bool erased = false;
        bool in_table = false;                  ///< the table may hold the row
        std::vector<core::Timestamp> former{};  ///< expiries of the receipts that it replaces
    };
    core::Result<std::optional<Receipt>> read(const core::MessageKey& key) const;

    Database& database_;
    const core::Partition partition_;
    const Family family_;
    std::map<core::MessageKey, Change> changes_;
    bool empty_ = true;  ///< there was none since load()
};

}  // namespace beckon::store
