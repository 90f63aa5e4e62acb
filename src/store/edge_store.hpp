#pragma once

#include "core/clock.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "rocks/memory.hpp"
#include "store/partition_store.hpp"
#include "store/waiting_count.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace rocksdb {
class Env;
}  // namespace rocksdb

/// The edge's state (docs/design.md#the-store): a fold of `notifications` and `subscriptions`, in
/// one RocksDB per process. Each partition belongs to one owner thread, which folds through its
/// PartitionStore.
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
