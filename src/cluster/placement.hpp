#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

/// Who shall serve a partition: pure functions, any thread.
namespace beckon::cluster {

/// Where one partition of a role lives, as the controller decided it.
struct Placement {
    core::NodeId home;
    std::vector<core::NodeId> standbys;
    core::Epoch controller_epoch = 0;  ///< a placement of a lower one is ignored
    bool operator==(const Placement&) const = default;
};

/// What a node is weighed by: a text that outlives its process, so that a node that was started
/// again gets the partitions whose state it has.
using NameOf = std::function<std::string_view(const core::NodeId&)>;

/// Rendezvous hashing: the nodes in rank order for a partition; [0] is the home, [1] its first
/// standby and next home. Nodes of one name stand beside each other.
std::vector<core::NodeId> rank(core::Partition partition, const std::vector<core::NodeId>& alive,
                               const NameOf& name);

bool contains(const std::vector<core::NodeId>& nodes, const core::NodeId& node);

/// What the controller knows when it places a partition.
struct PlacementFacts {
    core::Partition partition = 0;
    std::optional<Placement> now;
    const std::vector<core::NodeId>& alive;
    NameOf name;
    /// Whether a node could serve the partition at once, and nothing else stands in the way.
    std::function<bool(const core::NodeId&)> ready;
    int standby_count = 1;
    core::Epoch controller_epoch = 0;
};

/// Where the partition shall live; nullopt: nobody is alive, or it lives there already. The first
/// in rank is home, but a partition leaves a living home only for a node that is ready for it;
/// until then that node is a standby and warms up. The successor of a dead home is whoever is ready
/// for it, in the order of rank.
std::optional<Placement> place(const PlacementFacts& facts);

}  // namespace beckon::cluster
