#pragma once

#include "cluster/overview.hpp"
#include "core/lifetime.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace beckon::console {

/// Follows the log topic `ownership` for those who show it: who serves which partition, of every
/// role. Folded in memory from the topic's start. The executor's thread, except where it says
/// otherwise.
class OwnershipView {
public:
    OwnershipView(core::Partition partitions, log::EventLog& log, core::Executor& executor);
    OwnershipView(const OwnershipView&) = delete;
    OwnershipView& operator=(const OwnershipView&) = delete;

    /// Those that have ever run. Any thread.
    std::vector<cluster::RoleOverview> roles() const;
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
