#pragma once

#include "cluster/cluster.hpp"
#include "log/event_log.hpp"
#include "reliability/home/milestone_home.hpp"
#include "reliability/home/partition_rows.hpp"
#include "reliability/tracking/milestone_queue.hpp"
#include "reliability/tracking/tracking.hpp"
#include "sim/process_life.hpp"
#include "support/test_executor.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <set>

namespace beckon::sim {

/// The way of a process's milestones into the log, as reliability::Tracking composes it, without
/// its thread.
class SimTracking {
public:
    SimTracking(log::EventLog& log, ProcessLife& life, const core::Clock& clock,
                const core::NodeId& node, core::Partition partitions);

    core::MilestoneSink& sink() { return queue_; }

private:
    SimLoop loop_;
    reliability::MilestoneQueue queue_;
    reliability::MilestoneWriter writer_;
};

/// A process with the role reliability, as reliability::Role composes it, without its thread.
/// Destroying it is a kill.
class SimReliability {
public:
    struct Surroundings {
        log::EventLog& log;
        test::SimExecutor& executor;
        const core::Clock& clock;
        std::filesystem::path directory;
    };
    SimReliability(const Surroundings& around, const core::NodeId& id, core::Partition partitions);
    ~SimReliability();
    SimReliability(const SimReliability&) = delete;
    SimReliability& operator=(const SimReliability&) = delete;

    /// Null: this process does not serve the partition, or has not caught up.
    const reliability::MilestoneHome* serving(core::Partition partition) const;
    /// The partition's records below this offset are in the rows.
    core::Offset written(core::Partition partition) const;

private:
    void placed(core::Partition partition, const cluster::Placement& placement);
    void announce();
    void tick();

    const Surroundings around_;
    const core::NodeId id_;
    ProcessLife life_;
    SimLoop loop_;
    std::unique_ptr<reliability::MilestoneStore> store_;
    std::unique_ptr<log::Publisher> publisher_;
    std::unique_ptr<cluster::Cluster> cluster_;
    std::map<core::Partition, std::unique_ptr<reliability::MilestoneHome>> homes_;
    std::set<core::Partition> announced_;
};

}  // namespace beckon::sim
