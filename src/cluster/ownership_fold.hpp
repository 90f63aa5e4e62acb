#pragma once

#include "cluster/placement.hpp"
#include "core/record.hpp"
#include "records/ownership.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace beckon::cluster {

/// The records of one role in `ownership`, folded in log order, so that all nodes agree on the
/// result. No clock, no log, no I/O; one thread.
class OwnershipFold {
public:
    OwnershipFold(std::string role, core::Partition partitions)
        : role_(std::move(role)), partitions_(partitions) {}

    /// The effect of one record.
    struct Effect {
        /// The placement of this partition has changed.
        std::optional<core::Partition> placed = std::nullopt;
        /// The record is a stale write: the controller publishes this read repair, or compaction
        /// would keep the stale one.
        std::optional<core::Record> repair = std::nullopt;
        bool new_controller = false;
        bool node_changed = false;
    };
    Effect apply(const core::RecordView& record);

    const std::string& role() const { return role_; }
    core::Partition partitions() const { return partitions_; }
    const std::map<core::Partition, Placement>& placed() const { return placed_; }
    std::optional<Placement> placement(core::Partition partition) const;
    /// The highest lease epoch announced for a partition; 0: none.
    core::Epoch highest_epoch(core::Partition partition) const {
        return highest_claim(partition).epoch;
    }
    /// The highest lease epoch of a partition, and the node that announced it.
    EpochRecord highest_claim(core::Partition partition) const;
    const std::map<core::NodeId, NodeRecord>& nodes() const { return nodes_; }
    bool is_ready(const core::NodeId& node, core::Partition partition) const;
    /// The name by which a node is placed; empty: its record is gone, or was never read.
    std::string name_of(const core::NodeId& node) const;

    /// The highest epoch claimed, and the node that claimed it first; 0 and empty: none yet.
    core::Epoch controller_epoch() const { return controller_epoch_; }
    const core::NodeId& controller() const { return controller_; }
    /// Claims of lower epochs that still stand in the log.
    std::vector<ControllerClaim> outdated_claims() const;

private:
    Effect apply(const ControllerClaim& claim);
    Effect apply(const PlacementRecord& record);
    Effect apply(const EpochRecord& record);
    Effect apply(const NodeRecord& record);

    std::string role_;
    core::Partition partitions_;
    std::map<core::Partition, Placement> placed_;
    std::map<core::Partition, EpochRecord> epochs_;
    std::map<core::NodeId, NodeRecord> nodes_;
    core::Epoch controller_epoch_ = 0;
    core::NodeId controller_;
    std::set<std::pair<core::Epoch, core::NodeId>> claims_;
};

}  // namespace beckon::cluster
