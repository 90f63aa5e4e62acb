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
    /// `host`: the other clock that must agree before a row goes; outlives this.
    explicit FoldTimes(const core::Clock& host);
    /// Sets the newest log time that the partition's fold has met; lower than before if the log's
    /// clock has stepped back.
    void set(core::Partition partition, core::Timestamp time);
    /// The partition is folded from the log's start again.
    void forget(core::Partition partition);
    /// The latest moment that is past for certain in this partition.
    core::Timestamp certainly_past(core::Partition partition) const;

private:
    const core::Clock& host_;
    std::unique_ptr<std::atomic<std::int64_t>[]> ms_;  ///< by partition
};

/// Removes rows whose drop time is over for certain, by their partition's fold time and by the
/// host's clock: expired messages with their `keys` and `replacements`, finished keys and removed
/// clients that need not be remembered any longer.
std::shared_ptr<rocksdb::CompactionFilterFactory> make_expiry_filter(
    std::shared_ptr<const FoldTimes> times);

}  // namespace beckon::store
