#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Chooses the nodes that serve a partition. Pure functions, any thread (decision 0020).
namespace beckon::cluster {

/// Where one partition of a role lives, as the controller decided it.
struct Placement {
    core::NodeId home;
    std::vector<core::NodeId> standbys;
    core::Epoch controller_epoch = 0;  ///< a placement of a lower one is ignored
    /// The name of the home that died or left, from which the present home took over. Its state is
    /// still on that node's disk, so the partition goes back there if one goes there at all.
    std::string former_home = {};
    bool operator==(const Placement&) const = default;
};

/// A node that lives.
struct PlacedNode {
    core::NodeId id;
    std::string name;            ///< outlives the process
    std::string zone = {};       ///< where it may fail together with others; empty: not known
    std::uint32_t capacity = 1;  ///< its share of partitions, relative to the other nodes; from 1
};

/// The controller's facts for placing the partitions of a role.
struct PlacementFacts {
    core::Partition partitions = 0;
    std::vector<PlacedNode> nodes;
    /// The placement in force; nullptr: there is none yet.
    std::function<const Placement*(core::Partition)> now;
    /// The name of a node that is dead or has left; empty: not known.
    std::function<std::string(const core::NodeId&)> former_name;
    /// True if a node could serve a partition at once.
    std::function<bool(const core::NodeId&, core::Partition)> ready;
    /// Nodes that take part in a move already: no partition leaves them or comes to them unless its
    /// home is dead.
    std::function<bool(const core::NodeId&)> moves;
    std::size_t standby_count = 1;
    core::Epoch controller_epoch = 0;
};

/// The final placement of all partitions. It follows from the placement in force and the nodes: the
/// numbers of homes differ by at most one (by capacity: each node has its share, rounded down or
/// up), as few partitions change their home as this allows, and the same holds for the standbys; a
/// home and its standbys are different nodes, in different zones where there are two. A node that
/// came back gets the partitions of which it was the former home before any other. Of several nodes
/// of one name (a process whose predecessor the group has not missed yet, a copied directory) the
/// one that has most homes counts, and the others get nothing. Empty: no node lives. Costs
/// partitions × nodes steps, for the standbys of large installations some more.
std::vector<Placement> plan(const PlacementFacts& facts);

/// The next step for one partition towards `target`, its row of the plan; nullopt: there is none.
/// A partition leaves a living home only for a node that is ready for it and moves no other; until
/// then that node is a standby and warms up. Of a dead home's partition a node that is ready
/// becomes home at once: the target, else one of its standbys, else any; if none is ready, the
/// target.
std::optional<Placement> next_step(const PlacementFacts& facts, core::Partition partition,
                                   const Placement& target);

bool contains(const std::vector<core::NodeId>& nodes, const core::NodeId& node);

}  // namespace beckon::cluster
