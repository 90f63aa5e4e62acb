#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/record.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

/// The records of the log topic `ownership` (docs/formats/ownership.md, decision 0020):
///
///   controller/<role>/<epoch, 20 digits>/<node>   a claim to be the role's controller
///   <role>/<p>                                    placement of a partition
///   <role>/epoch/<p>                              a lease epoch that a node is about to claim
///   <role>/node/<node>                            a node: its link URL and its ready partitions
///   !barrier/<node>                                  a read barrier
///   process/<role>/<id>                           see process.hpp
///   lag/<node>                                    see edge_lag.hpp
///
/// Pure functions, any thread.
namespace beckon::cluster {

/// The greatest capacity that a node may declare; the least is 1.
inline constexpr std::uint32_t kCapacityMax = 1'000;

struct ControllerClaim {
    std::string role;
    core::Epoch epoch = 0;
    core::NodeId node;
    bool removed = false;  ///< a tombstone: the winner clears claims of lower epochs
    bool operator==(const ControllerClaim&) const = default;
};

struct PlacementRecord {
    std::string role;
    core::Partition partition = 0;
    core::NodeId home;
    std::vector<core::NodeId> standbys;
    core::Epoch epoch = 0;  ///< of the controller that decided it
    /// The name of the dead home from which the present one took over; it still has the state.
    std::string former_home = {};
    bool operator==(const PlacementRecord&) const = default;
};

/// Written before the lease of that epoch, so that a node that has read `ownership` up to a read
/// barrier knows an epoch at least as high as any lease in the log. (A fold that goes on from its
/// checkpoint does not read the leases before it again.)
struct EpochRecord {
    std::string role;
    core::Partition partition = 0;
    core::Epoch epoch = 0;
    core::NodeId node;
    bool operator==(const EpochRecord&) const = default;
};

struct NodeRecord {
    std::string role;
    core::NodeId node;
    std::string link_url;
    std::set<core::Partition> ready;
    bool removed = false;  ///< a tombstone: the node is gone
    /// For people: clients that are connected there, and whose link is up. Absent: the node does
    /// not report it.
    std::optional<std::uint64_t> clients = std::nullopt;
    std::set<core::NodeId> links = {};
    /// Outlives the process; placement goes by it. Empty: by the node's id.
    std::string name = {};
    std::string zone = {};       ///< nodes of one zone may fail together; empty: not known
    std::uint32_t capacity = 1;  ///< its share of partitions, relative to other nodes
    /// How often this process has objected to suspicions of itself.
    std::uint64_t incarnation = 0;
    /// The nodes that this one has found dead, each with the incarnation that it had then. A
    /// suspicion ends with a higher incarnation of the suspect: its objection.
    std::map<core::NodeId, std::uint64_t> suspects = {};
    /// For people: records per second of `notifications`, of each partition that it serves.
    std::map<core::Partition, std::uint64_t> load = {};
    bool joining = false;  ///< it has started and is not in the role's group yet
    bool leaving = false;  ///< it has left the group and serves until others have taken over
    bool operator==(const NodeRecord&) const = default;
};

/// A key or value that this build does not know; skipped.
struct UnknownOwnership {
    std::string why;
    bool operator==(const UnknownOwnership&) const = default;
};

/// Read barriers, what processes say of themselves, and the lag of edges: nothing that Cluster
/// folds.
struct OwnershipBarrier {
    bool operator==(const OwnershipBarrier&) const = default;
};

using OwnershipEvent = std::variant<ControllerClaim, PlacementRecord, EpochRecord, NodeRecord,
                                    OwnershipBarrier, UnknownOwnership>;

core::Record encode(const ControllerClaim& claim);
core::Record encode(const PlacementRecord& placement);
core::Record encode(const EpochRecord& epoch);
core::Record encode(const NodeRecord& node);

OwnershipEvent decode_ownership(const core::RecordView& record);

}  // namespace beckon::cluster
