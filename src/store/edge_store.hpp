#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "rocks/memory.hpp"
#include "store/partition_store.hpp"
#include "store/rows/row_key.hpp"
#include "store/types.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The edge's state (docs/design.md#the-store): a fold of `notifications` and `subscriptions`, in
/// one RocksDB per process. Each partition belongs to one owner thread, which folds through its
/// PartitionStore.
namespace beckon::store {

/// Kind and version of an edge store's rows (schema.hpp), and the layout of its message families.
/// Count up with every change that an older build would read wrongly: such a store is set aside and
/// rebuilt.
std::string_view format_of(Rotation rotation);

/// How the store in a directory that no process has open is laid out. Any thread. Errors, each with
/// the path: corrupt (damaged, or not a store that this build reads), unavailable.
core::Result<Rotation> stored_rotation(const std::filesystem::path& directory);

}  // namespace beckon::store

namespace rocksdb {

class Iterator;

}  // namespace rocksdb

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

namespace rocksdb {

class Env;

}  // namespace rocksdb

namespace beckon::store {

struct EdgeStoreOptions {
    std::filesystem::path directory;
    std::string log_id;  ///< a store of another log is set aside and made anew
    std::size_t cache_bytes = 128U << 20;
    std::size_t write_buffer_bytes = 64U << 20;
    /// Shared with the other stores of the process; then the two sizes above do not count.
    std::shared_ptr<rocks::Memory> memory;
    Rotation rotation = Rotation::monthly;
    rocksdb::Env* env = nullptr;  ///< how RocksDB reaches its files; for tests with faults
};

/// One RocksDB with all partitions that this process holds.
class EdgeStore {
public:
    /// Opens or makes the store. One of another log, in a format that this build does not know, or
    /// with damaged files is renamed to `<directory>.set-aside-<n>`, with a warning, and made anew.
    /// Errors, each with the path: conflict (in use by another process), unavailable (not writable,
    /// or the disk fails), full.
    static core::Result<std::unique_ptr<EdgeStore>> open(const EdgeStoreOptions& options);
    ~EdgeStore();

    /// Any thread. A partition is open at most once at a time and is destroyed before the
    /// EdgeStore; its uncommitted changes are dropped then.
    std::unique_ptr<PartitionStore> open_partition(core::Partition partition);
    /// Drops month families that are over: `log_now` and host time both past the month + 1 h.
    /// Any thread but a shard's, since it may take a tenth of a second; while others fold and read.
    /// Call it about once an hour: the files of a dropped month are deleted by the call after the
    /// one that dropped it. Returns the names of the dropped families; none without rotation.
    std::vector<std::string> drop_past_months(core::Timestamp log_now, core::Timestamp host_now);
    /// Why nothing can be committed before this process is restarted (the disk failed in a way that
    /// RocksDB does not recover from); empty: nothing is known of that. Any thread; does not wait.
    std::string needs_restart() const;
    /// Begins to count the messages that wait in a partition, open here or not. Any thread but a
    /// shard's.
    WaitingCount count_waiting(core::Partition partition, core::Timestamp now) const;

private:
    struct Impl;
    explicit EdgeStore(std::unique_ptr<Impl> impl);
    const std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::store
