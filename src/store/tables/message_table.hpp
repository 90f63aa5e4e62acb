#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "store/database.hpp"
#include "store/rows/schema.hpp"
#include "store/tables/months.hpp"
#include "store/types.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <rocksdb/write_batch.h>

namespace beckon::store {

/// One partition's pending messages, distributed over the month families, with the changes since
/// the last commit. As RowChanges, by client and in the order of a drain. One thread.
class MessageTable {
public:
    MessageTable(Database& database, Months& months, core::Partition partition);

    /// A message that is not in the table.
    void put(const core::Uaid& uaid, MessageOrder order, const MessageView& message);
    void remove(const core::Uaid& uaid, MessageOrder order, core::Timestamp expiry);

    /// Passes on the client's messages in their order, from the first that is not before `from`,
    /// until `visit` returns stop; `skip_topics` goes on behind the Topic messages, with the first
    /// that is not before `plain_from`. The view ends with the call; `visit` must not call back.
    /// Errors: corrupt.
    enum class Next { go_on, skip_topics, stop };
    using Visit = std::function<Next(MessageOrder, std::string_view value)>;
    core::Result<void> scan(const core::Uaid& uaid, MessageOrder from, const Visit& visit,
                            core::Offset plain_from = 0);

    /// Adds all changes to a batch; makes the families that it needs. Errors as create_family().
    core::Result<void> write_to(rocksdb::WriteBatch& batch);
    /// The batch is written · it failed · it is void.
    void committed();
    void write_failed();
    void reset();

    std::size_t changed_rows() const { return changed_rows_; }
    std::size_t changed_bytes() const { return changed_bytes_; }

private:
    struct Change {
        MessageOrder order;
        Month month = 0;
        bool in_table = false;
        bool removed = false;
        std::string value;
    };
    /// The changes of one client, ascending.
    using ClientChanges = std::vector<Change>;
    class Cursor;
    class Merge;

    Month month_of(core::Timestamp expiry) const;
    /// nullptr: there is none (never made, or dropped).
    rocksdb::ColumnFamilyHandle* family_of(Month month);
    const std::shared_ptr<const MonthList>& months_now();

    Database& database_;
    Months& months_;
    const core::Partition partition_;

    std::shared_ptr<const MonthList> list_;
    std::uint64_t generation_ = 0;  ///< of list_

    std::unordered_map<core::Uaid, ClientChanges> changes_;
    std::size_t changed_rows_ = 0;
    std::size_t changed_bytes_ = 0;
    const ClientChanges no_changes_;
};

}  // namespace beckon::store
