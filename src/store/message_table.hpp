#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "store/database.hpp"
#include "store/edge_store.hpp"
#include "store/months.hpp"
#include "store/schema.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/write_batch.h>

namespace beckon::store {

/// One partition's pending messages, spread over the month families, with what the current batch
/// has put and removed but RocksDB does not show yet. One thread.
class MessageTable {
public:
    MessageTable(Database& database, Months& months, core::Partition partition,
                 rocksdb::WriteBatch& batch);

    /// False: its month is over, nothing was stored.
    bool put(const core::Uaid& uaid, MessageOrder order, const MessageView& message);
    void remove(const core::Uaid& uaid, MessageOrder order, core::Timestamp expiry);

    /// Hands the client's messages over in their order, from the first that is not before `from`,
    /// until `visit` says no. The view ends with the call; `visit` must not call back.
    /// An answer of `skip_topics` goes on behind the Topic messages.
    enum class Next { go_on, skip_topics, stop };
    core::Result<void> scan(const core::Uaid& uaid, MessageOrder from,
                            const std::function<Next(MessageOrder, std::string_view)>& visit);

    /// Makes the families that puts of this batch still lack. Before the batch is written; errors
    /// as create_family(), then call again.
    core::Result<void> complete_batch();
    void forget_batch();

private:
    /// What the batch did to one row. A put's bytes lie in the batch, or in `waiting_` while its
    /// family could not be made.
    struct Change {
        core::Uaid uaid;
        MessageOrder order;
        enum class What : std::uint8_t { put, waiting, removed } what = What::removed;
        std::size_t at = 0;      ///< in the batch's bytes, or index in `waiting_`
        std::size_t length = 0;  ///< in the batch's bytes
    };
    struct Waiting {
        Month month = 0;
        std::string row_key;
        std::string value;
        bool done = false;  ///< in the batch by now, or removed again
    };
    class Cursor;

    /// nullptr: there is none (never made, or dropped).
    rocksdb::ColumnFamilyHandle* family_of(Month month);
    const MonthList& months_now();
    std::vector<Change> changes_of(const core::Uaid& uaid) const;
    std::string_view bytes_of(const Change& change) const;

    Database& database_;
    Months& months_;
    const core::Partition partition_;
    rocksdb::WriteBatch& batch_;

    std::shared_ptr<const MonthList> list_;
    std::uint64_t generation_ = 0;
    std::vector<Change> changes_;  ///< in the order they were made; a batch is short
    std::vector<Waiting> waiting_;
    std::string scratch_;
};

}  // namespace beckon::store
