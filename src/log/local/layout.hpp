#pragma once

#include "core/partition.hpp"
#include "log/topic.hpp"

namespace beckon::log {

/// How many partitions a topic has in the logs that live in the process (memory, embedded):
/// `partitions` everywhere but in the three topics that are one sequence.
inline core::Partition partitions_of(Topic topic, core::Partition partitions) {
    const bool single =
        topic == Topic::kOwnership || topic == Topic::kBroadcasts || topic == Topic::kControl;
    return single ? 1 : partitions;
}

inline bool exists(const TopicPartition& where, core::Partition partitions) {
    return where.partition >= 0 && where.partition < partitions_of(where.topic, partitions);
}

}  // namespace beckon::log
