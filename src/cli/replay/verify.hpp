#pragma once

#include "cli/replay/scratch_store.hpp"
#include "core/clock.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

/// Whether an edge's store is what its log says. Blocking, main thread only.
namespace beckon::cli {

struct VerifyOptions {
    core::Timestamp now{};
    std::chrono::milliseconds timeout{10'000};
};

/// What came out for one partition.
struct Verified {
    core::Partition partition = 0;
    std::string stored;   ///< digest of the store
    std::string rebuilt;  ///< digest of what the log gives
    /// Messages that the home had finished and whose tombstone the log does not have yet.
    std::size_t owed = 0;

    bool agree() const { return stored == rebuilt; }
};

/// Folds the partition from the log's start into an empty store, and what the store has not seen
/// yet into `copy`, and compares both (PartitionStore::digest). What the home had decided and the
/// log does not show counts for both. nullopt: the store has nothing of this partition. Errors:
/// those of log/read_partition.hpp and of the store.
core::Result<std::optional<Verified>> verify_partition(log::EventLog& log, ScratchStore& copy,
                                                       core::Partition partition,
                                                       const VerifyOptions& options);

/// One JSON object in one line.
std::string verified_json(const Verified& verified);

}  // namespace beckon::cli
