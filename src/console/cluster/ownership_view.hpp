#pragma once

#include "cluster/ownership_fold.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace beckon::console {

/// One partition of a role, as `ownership` has it.
struct PlacedPartition {
    core::Partition partition = 0;
    std::string home;  ///< empty: placed nowhere yet
    std::vector<std::string> standbys;
    std::vector<std::string> ready;  ///< nodes that could serve it at once
    core::Epoch lease_epoch = 0;
    bool moving = false;  ///< its home does not say that it is ready
    bool operator==(const PlacedPartition&) const = default;
};
struct ClusterNode {
    std::string id;
    std::string link;  ///< by which other nodes reach it; empty: not at all
    std::size_t homes = 0;
    std::size_t standbys = 0;
    bool controller = false;
    bool operator==(const ClusterNode&) const = default;
};
struct ClusterRole {
    std::string name;
    core::Epoch controller_epoch = 0;
    std::vector<ClusterNode> nodes;
    std::vector<PlacedPartition> partitions;
    bool operator==(const ClusterRole&) const = default;
};

/// Follows the log topic `ownership` for those who show it: who serves which partition, of every
/// role. Folded in memory from the topic's start. The executor's thread, except where it says
/// otherwise.
class OwnershipView {
public:
    OwnershipView(core::Partition partitions, log::EventLog& log, core::Executor& executor);
    OwnershipView(const OwnershipView&) = delete;
    OwnershipView& operator=(const OwnershipView&) = delete;

    /// Any thread.
    std::vector<ClusterRole> roles() const;
    /// Who serves a partition of a role, as a person names it; empty: nobody known. Any thread.
    std::string home_of(const std::string& role, core::Partition partition) const;
    /// Everything that stood there at the start is folded. Any thread.
    bool complete() const;

private:
    void read();

    const core::Partition partitions_;
    core::Executor& executor_;
    mutable std::mutex mutex_;
    std::map<std::string, cluster::OwnershipFold> folds_;  ///< by role; under mutex_, as the next
    bool complete_ = false;
    core::Lifetime lifetime_;
    std::unique_ptr<log::PartitionReader> reader_;
};

}  // namespace beckon::console
