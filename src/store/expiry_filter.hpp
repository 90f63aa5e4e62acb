#pragma once

#include "core/clock.hpp"
#include "core/partition.hpp"

#include <atomic>
#include <cstdint>
#include <memory>

#include <rocksdb/compaction_filter.h>

namespace beckon::store {

/// How far each partition's fold has come in log time. The compaction filter judges a row by the
/// time of its own partition, so that a partition which is being restored, hours behind, loses
/// nothing that its fold still has to meet. Thread-safe.
class FoldTimes {
public:
    FoldTimes();
    void raise(core::Partition partition, core::Timestamp time);
    /// The partition is folded from the log's start again.
    void forget(core::Partition partition);
    core::Timestamp at(core::Partition partition) const;

private:
    std::unique_ptr<std::atomic<std::int64_t>[]> ms_;  ///< by partition
};

/// Removes rows whose drop time lies an hour behind their partition's fold time: expired messages
/// with their `keys` and `replacements`, finished keys and removed clients that need not be
/// remembered any longer. An hour, because a broker's clock may step back.
std::shared_ptr<rocksdb::CompactionFilterFactory> make_expiry_filter(
    std::shared_ptr<const FoldTimes> times);

}  // namespace beckon::store
