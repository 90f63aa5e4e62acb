#pragma once

#include "core/clock.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "inspect/store/scratch_store.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Checks an edge's store against its log. Blocking, main thread only.
namespace beckon::tools {

struct VerifyOptions {
    core::Timestamp now{};
    std::chrono::milliseconds timeout{10'000};
    /// Called at each record of the log, in its order, with how many of log_sizes() are folded.
    std::function<void(std::uint64_t passed)> progress = [](std::uint64_t) {};
};

/// The offsets, of both topics, that verify_partition() folds of these partitions, by partition.
core::Result<std::map<core::Partition, std::uint64_t>> log_sizes(
    log::EventLog& log, const std::vector<core::Partition>& partitions,
    std::chrono::milliseconds timeout);

/// A row that differs between the store and the log.
struct Difference {
    std::string kind;  ///< client, channel, message or pending_tombstone
    std::string row;   ///< `<uaid>`, or `<uaid>/<channel or message key>`, in hex
    std::string what;  ///< "only the store has it", and so on

    bool operator==(const Difference&) const = default;
};

/// The result for one partition.
struct Verified {
    core::Partition partition = 0;
    std::string stored;   ///< digest of the store
    std::string rebuilt;  ///< digest of the state folded from the log
    /// Messages that the home had finished and whose tombstone the log does not have yet.
    std::size_t pending_tombstones = 0;
    /// The number of rows that differ. 0 without agreement: they belong to unknown clients.
    std::size_t differ = 0;
    std::vector<Difference> differences;  ///< the first kDifferencesMax of them, by kind and row
    static constexpr std::size_t kDifferencesMax = 20;

    bool agree() const { return stored == rebuilt; }
};

/// Folds the partition from the log's start into an empty store, and the records that the store has
/// not seen yet into `copy`, both up to the log's present end, and compares the two
/// (PartitionStore::digest). Decisions of the home that are not in the log yet count for both.
/// nullopt: the store has nothing of this partition. Errors: those of log/read_partition.hpp and of
/// the store.
core::Result<std::optional<Verified>> verify_partition(log::EventLog& log,
                                                       inspect::ScratchStore& copy,
                                                       core::Partition partition,
                                                       const VerifyOptions& options);

/// One JSON object in one line.
std::string verified_json(const Verified& verified);

}  // namespace beckon::tools
