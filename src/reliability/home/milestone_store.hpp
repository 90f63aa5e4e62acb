#pragma once

#include "core/partition.hpp"
#include "core/result.hpp"
#include "reliability/home/partition_rows.hpp"
#include "rocks/memory.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace beckon::store {
class Database;
}  // namespace beckon::store

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
