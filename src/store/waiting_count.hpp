#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "store/rows/row_key.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rocksdb {
class Iterator;
}

namespace beckon::store {

class Database;
class Months;
struct KeyRow;

/// Counts the messages that wait in one partition by walking its rows of `keys`, a piece at a time,
/// beside the fold that changes them: the sum is right for rows that did not change meanwhile. It
/// writes nothing. It sees only committed rows, so messages that have waited for longer than some
/// 100 ms.
///
/// One thread at a time, but not a shard's: a piece reads from the disk. The store outlives it.
class WaitingCount {
public:
    /// Messages that expire by `now` do not count.
    WaitingCount(Database& database, const Months& months, core::Partition partition,
                 core::Timestamp now);

    /// Walks up to `rows_max` rows, including deleted ones that are not compacted yet, of which it
    /// may step over as many again. True once it has seen all. Errors: corrupt, unavailable.
    core::Result<bool> step(std::size_t rows_max);

    /// So far.
    std::uint64_t messages() const { return messages_; }
    /// When the log took the oldest of them; nullopt if none waits, or if it has gone meanwhile.
    /// Only after step() returned true. Errors: corrupt, unavailable.
    core::Result<std::optional<core::Timestamp>> oldest() const;

private:
    struct Oldest {
        core::Uaid uaid;
        MessageOrder order;
        core::Timestamp expiry;
    };
    core::Result<bool> go_on_behind_deleted(rocksdb::Iterator& row);
    void count_row(std::string_view row_key, const KeyRow& row);

    Database& database_;
    const Months& months_;
    const core::Partition partition_;
    const core::Timestamp now_;
    std::string next_;  ///< the key to go on with
    std::uint64_t messages_ = 0;
    std::optional<Oldest> oldest_;
};

}  // namespace beckon::store
