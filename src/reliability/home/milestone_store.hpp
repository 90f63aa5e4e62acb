#pragma once

#include "core/checkpoint.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "reliability/history/history.hpp"
#include "reliability/home/partition_fold.hpp"
#include "reliability/totals/report.hpp"
#include "rocks/memory.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::reliability {

struct MilestoneStoreOptions {
    std::filesystem::path directory;
    std::string log_id;
    core::Partition partitions = 0;
    /// Shared by the stores of a process; null: one of its own.
    std::shared_ptr<rocks::Memory> memory;
};

/// The rows of one partition, docs/formats/reliability.md. One thread folds and commits; lookups
/// see what is committed, from any thread.
class PartitionRows {
public:
    virtual ~PartitionRows() = default;

    // --- any thread
    /// Errors: corrupt, unavailable.
    virtual core::Result<std::optional<History>> find(std::string_view id) const = 0;
    /// Ids whose message's TTL ended before `before`, oldest first, at most `max`.
    virtual core::Result<std::vector<std::string>> expired(Timestamp before,
                                                           std::size_t max) const = 0;
    /// Ids that ended on a day and stand behind `after` ("" for the first), at most `max`.
    virtual core::Result<std::vector<std::string>> ended_on(Day day, std::string_view after,
                                                            std::size_t max) const = 0;

    // --- folding thread
    virtual std::optional<core::Checkpoint> checkpoint() const = 0;
    /// Puts the sums back into a fold that has folded nothing. Errors: corrupt.
    virtual core::Result<void> restore(PartitionFold& fold) const = 0;
    /// Writes what the fold changed and how far it has come, in one batch. Errors: full,
    /// unavailable; nothing is written then, and it may be called again.
    virtual core::Result<void> commit(PartitionFold& fold, const core::Checkpoint& checkpoint) = 0;
    /// Deletes everything of the partition.
    virtual core::Result<void> clear() = 0;
};

/// The RocksDB of the role. The rows of its partitions borrow it.
class MilestoneStore {
public:
    virtual ~MilestoneStore() = default;
    virtual std::unique_ptr<PartitionRows> partition(core::Partition partition) = 0;
};

/// One of another log, layout or version is set aside. Errors: as store::Database::open().
core::Result<std::unique_ptr<MilestoneStore>> open_milestone_store(
    const MilestoneStoreOptions& options);

}  // namespace beckon::reliability
