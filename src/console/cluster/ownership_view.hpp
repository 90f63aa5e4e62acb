#pragma once

#include "cluster/overview.hpp"
#include "console/cluster/process_facts.hpp"
#include "console/cluster/processes.hpp"
#include "core/clock.hpp"
#include "core/partition.hpp"
#include "fold/topic_state.hpp"
#include "log/event_log.hpp"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace beckon::console {

/// Follows the log topic `ownership` for pages that show the home of every role's partitions, and
/// its processes. Folds it in memory from the topic's start. The executor's thread, except where it
/// says otherwise.
class OwnershipView {
public:
    /// The clock outlives it.
    OwnershipView(core::Partition partitions, log::EventLog& log, core::Executor& executor,
                  const core::Clock& clock);
    OwnershipView(const OwnershipView&) = delete;
    OwnershipView& operator=(const OwnershipView&) = delete;

    /// The roles that have ever run. A partition whose home does not live is unplaced. Any thread.
    std::vector<cluster::RoleOverview> roles() const;
    /// The node that serves a partition of a role, as a person names it; empty: none that lives is
    /// known. Any thread.
    std::string home_of(const std::string& role, core::Partition partition) const;
    /// HOST:PORT of the ops port of each edge that lives: the host of its link address, and the
    /// port that its process reports. Any thread.
    std::vector<std::string> ops_ports_of_edges() const;
    /// Whether a process of the role lives, as far as processes are known at all. Any thread.
    bool any_alive(const std::string& role) const;
    /// The report of this process, where it does not publish it.
    void tell(const cluster::ProcessRecord& process);
    /// The processes that live, and those that were silent for less than the history window and
    /// did not say that they ended. Any thread.
    std::vector<ProcessFacts> processes(core::Duration history_window);
    /// The partitions that no living node serves. Any thread.
    std::vector<HomelessFacts> homeless() const;
    /// The partitions that get several times the records of the others. Any thread.
    std::vector<HotFacts> hot() const;
    /// All records that were there at the start are folded, and the fold follows. Any thread.
    bool complete() const;

private:
    void apply(const core::RecordView& record);
    void clear();
    void changed();
    core::Timestamp heard(const core::RecordView& record) const;
    const Processes::Seen* process_of(const std::string& role, const std::string& id) const;
    bool lives(const cluster::OwnershipFold& fold, const core::NodeId& node) const;
    bool any_lives() const;
    ProcessFacts facts_of(const Processes::Seen& seen, core::Timestamp now) const;

    const core::Clock& clock_;
    const core::Partition partitions_;
    mutable std::mutex mutex_;
    std::map<std::string, cluster::OwnershipFold> folds_;  ///< by role; under mutex_, as the next
    Processes processes_;
    bool complete_ = false;
    fold::TopicState state_;  ///< first to go: it calls us
};

}  // namespace beckon::console
