#pragma once

#include "cluster/overview.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

/// The page of `beckon cluster`: nodes and partitions of a role, as the log has them. Blocking,
/// main thread only.
namespace beckon::tools {

struct ClusterView {
    cluster::RoleOverview role;
    /// Records that the home has not committed yet, of all topics that it folds. Missing: it has
    /// reported none, or the role reports none (`retry`).
    std::map<core::Partition, std::int64_t> lags;
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

}  // namespace beckon::tools
