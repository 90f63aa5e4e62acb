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

/// Follows the log topic `ownership` for pages that show the home of every role's partitions. Folds
/// it in memory from the topic's start. The executor's thread, except where it says otherwise.
class OwnershipView {
public:
    OwnershipView(core::Partition partitions, log::EventLog& log, core::Executor& executor);
    OwnershipView(const OwnershipView&) = delete;
    OwnershipView& operator=(const OwnershipView&) = delete;

    /// The roles that have ever run. Any thread.
    std::vector<cluster::RoleOverview> roles() const;
    /// The node that serves a partition of a role, as a person names it; empty: none is known. Any
    /// thread.
    std::string home_of(const std::string& role, core::Partition partition) const;
    /// All records that were there at the start are folded. Any thread.
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
