#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What `beckon cluster` shows: nodes and partitions of a role, as the log has them. Blocking, main
/// thread only.
namespace beckon::cli {

struct ClusterNode {
    core::NodeId id;
    std::string link_address;
    bool controller = false;
    std::optional<std::uint64_t> clients;  ///< as it said a short while ago
    std::vector<core::NodeId> links;       ///< to whom its link was up then
    std::size_t homes = 0;
    std::size_t standbys = 0;
    bool operator==(const ClusterNode&) const = default;
};

struct ClusterStandby {
    core::NodeId node;
    bool ready = false;
    bool operator==(const ClusterStandby&) const = default;
};

struct ClusterPartition {
    core::Partition partition = 0;
    core::NodeId home;
    /// Who claimed the highest epoch: another node than `home` while the partition moves. Empty:
    /// nobody yet, or the role needs no leases.
    core::NodeId claimed_by;
    core::Epoch epoch = 0;
    std::vector<ClusterStandby> standbys;
    /// Records that the home has not committed yet, of all topics that it folds; nullopt: it has
    /// reported none, or the role reports none (`retry`).
    std::optional<std::int64_t> lag;

    bool moving() const { return !claimed_by.text.empty() && claimed_by != home; }
    bool operator==(const ClusterPartition&) const = default;
};

struct ClusterView {
    std::string role;
    std::vector<ClusterNode> nodes;
    std::vector<ClusterPartition> partitions;
};

/// Reads `ownership`, and how far behind the log's end each partition is. Errors: those of
/// log/read_partition.hpp.
core::Result<ClusterView> read_cluster(log::EventLog& log, const std::string& role,
                                       core::Partition partitions,
                                       std::chrono::milliseconds timeout);

/// For people.
std::string cluster_table(const ClusterView& view);
/// One JSON object in one line.
std::string cluster_json(const ClusterView& view);

}  // namespace beckon::cli
