#pragma once

#include "cluster/ownership_fold.hpp"
#include "core/enum_names.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// A role as `ownership` has it, for people: nodes with their links and clients, partitions with
/// their home, and moves under way. Pure functions, any thread.
namespace beckon::cluster {

struct NodeOverview {
    core::NodeId id;
    std::string name = {};     ///< outlives its process; empty: by the id
    std::string link_address;  ///< where other nodes reach it; empty: nowhere
    bool alive = true;
    bool controller = false;
    /// As it reported a short while ago; unknown of a dead node, as the next.
    std::optional<std::uint64_t> clients = std::nullopt;
    std::vector<core::NodeId> links = {};  ///< the nodes to which its link was up then
    std::size_t homes = 0;
    std::size_t standbys = 0;
    bool operator==(const NodeOverview&) const = default;
};

struct StandbyOverview {
    core::NodeId node;
    bool alive = true;
    bool ready = false;  ///< it could serve the partition at once
    bool operator==(const StandbyOverview&) const = default;
};

enum class PartitionState : std::uint8_t {
    unplaced,   ///< no living node has it
    moving,     ///< a hand-over is under way: another node than its home holds the highest epoch
    restoring,  ///< its home does not report that it serves it
    serving,
};
inline std::string_view to_string(PartitionState state) { return core::name_of(state); }

struct PartitionOverview {
    core::Partition partition = 0;
    core::NodeId home;  ///< empty: placed nowhere yet
    /// The node that claimed the highest epoch. Empty: none yet, or the role needs no leases.
    core::NodeId claimed_by = {};
    core::Epoch epoch = 0;
    PartitionState state = PartitionState::unplaced;
    std::vector<StandbyOverview> standbys = {};
    /// Records per second, as its home reported a short while ago; nullopt: it did not.
    std::optional<std::uint64_t> load = std::nullopt;
    bool hot = false;  ///< by kHotLeast and kHotTimes
    /// Records that the home has not committed yet; nullopt: not asked for, or none is reported.
    std::optional<std::int64_t> lag = std::nullopt;
    bool operator==(const PartitionOverview&) const = default;
};

/// A partition is hot that gets at least so many records per second, and so many times as many as
/// the others in the mean (docs/operations/troubleshooting.md#a-hot-partition). Below that a shard
/// has no work.
inline constexpr std::uint64_t kHotLeast = 1'000;
inline constexpr std::uint64_t kHotTimes = 3;

struct RoleOverview {
    std::string role;
    core::Epoch controller_epoch = 0;
    std::vector<NodeOverview> nodes;            ///< by id
    std::vector<PartitionOverview> partitions;  ///< all of them; none if the role has never run
    bool operator==(const RoleOverview&) const = default;
};

/// `lives`: the judgement of each node (cluster/liveness.hpp).
using Lives = std::function<bool(const core::NodeId&)>;
RoleOverview overview_of(const OwnershipFold& fold, const Lives& lives);

}  // namespace beckon::cluster
