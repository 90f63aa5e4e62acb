#pragma once

#include "core/checkpoint.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "reliability/history/history.hpp"
#include "reliability/home/partition_fold.hpp"
#include "reliability/totals/report.hpp"
#include "rocks/memory.hpp"

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rocksdb {

class ColumnFamilyHandle;
class WriteBatch;

}  // namespace rocksdb

namespace beckon::store {

class Database;
struct KeyRange;

}  // namespace beckon::store

namespace beckon::reliability {

/// The column families of the role's RocksDB (docs/formats/reliability.md).
namespace family {
inline constexpr const char* kHistories = "histories";
inline constexpr const char* kExpiry = "expiry";
inline constexpr const char* kEnded = "ended";
inline constexpr const char* kTotals = "totals";
inline constexpr const char* kPartitions = "partitions";
inline constexpr std::array kAll = {kHistories, kExpiry, kEnded, kTotals, kPartitions};
}  // namespace family

/// The rows of one partition, docs/formats/reliability.md. One thread folds and commits; lookups
/// see the committed rows, from any thread.
class PartitionRows {
public:
    /// `database` outlives this.
    PartitionRows(store::Database& database, core::Partition partition);
    ~PartitionRows();
    PartitionRows(const PartitionRows&) = delete;
    PartitionRows& operator=(const PartitionRows&) = delete;

    // --- any thread
    /// Errors: corrupt, unavailable.
    core::Result<std::optional<History>> find(std::string_view id) const;
    /// Ids whose message's TTL ended before `before`, oldest first, at most `max`.
    core::Result<std::vector<std::string>> expired(Timestamp before, std::size_t max) const;
    /// Ids that ended on a day and stand behind `after` ("" for the first), at most `max`.
    core::Result<std::vector<std::string>> ended_on(Day day, std::string_view after,
                                                    std::size_t max) const;

    // --- folding thread
    std::optional<core::Checkpoint> checkpoint() const;
    /// Puts the sums back into a fold that has folded nothing. Errors: corrupt.
    core::Result<void> restore(PartitionFold& fold) const;
    /// Writes the fold's changes and its checkpoint in one batch. Errors: full, unavailable;
    /// nothing is written then, and it may be called again.
    core::Result<void> commit(PartitionFold& fold, const core::Checkpoint& checkpoint);
    /// Deletes everything of the partition.
    core::Result<void> clear();

private:
    using Family = std::shared_ptr<rocksdb::ColumnFamilyHandle>;

    /// Of rows whose keys end with one, `id_at` bytes in.
    core::Result<std::vector<std::string>> ids(const Family& family, const store::KeyRange& range,
                                               std::size_t id_at, std::size_t max) const;
    void put(rocksdb::WriteBatch& batch, const std::string& id,
             const PartitionFold::Change& change) const;
    void forget_old_days(rocksdb::WriteBatch& batch, Timestamp now) const;

    store::Database& database_;
    const core::Partition partition_;
    const std::string prefix_;  ///< of all keys
    const Family histories_;
    const Family expiry_;
    const Family ended_;
    const Family totals_;
    const Family partitions_;
    std::optional<Day> newest_day_;  ///< for which old days were forgotten
    Timestamp fold_time_{};          ///< the newest that was met; rows go by it
};

}  // namespace beckon::reliability

namespace beckon::reliability {

struct MilestoneStoreOptions {
    std::filesystem::path directory;
    std::string log_id;
    core::Partition partitions = 0;
    /// Shared by the stores of a process; null: one of its own.
    std::shared_ptr<rocks::Memory> memory;
};

/// The RocksDB of the role. The rows of its partitions borrow it.
class MilestoneStore {
public:
    /// One of another log, layout or version is set aside. Errors: as store::Database::open().
    static core::Result<std::unique_ptr<MilestoneStore>> open(const MilestoneStoreOptions& options);
    ~MilestoneStore();
    MilestoneStore(const MilestoneStore&) = delete;
    MilestoneStore& operator=(const MilestoneStore&) = delete;

    std::unique_ptr<PartitionRows> partition(core::Partition partition);

private:
    explicit MilestoneStore(std::unique_ptr<store::Database> database);

    const std::unique_ptr<store::Database> database_;
};

}  // namespace beckon::reliability
