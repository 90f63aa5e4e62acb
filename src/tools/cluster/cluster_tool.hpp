#pragma once

#include "cluster/overview.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "tools/running/ownership.hpp"

#include <chrono>
#include <string>

/// The page of `beckon cluster`: nodes and partitions of a role, as the log has them. Blocking,
/// main thread only.
namespace beckon::tools {

/// The role as `ownership` has it, with how far behind the log's end each partition is. Errors:
/// those of Ownership::read() and of log/read_partition.hpp.
core::Result<cluster::RoleOverview> read_cluster(log::EventLog& log, Ownership& ownership,
                                                 const std::string& role,
                                                 std::chrono::milliseconds timeout);

/// For people.
std::string cluster_table(const cluster::RoleOverview& role);
/// A living node serves, restores or takes over each partition. A role that has never run is not
/// well.
bool is_well(const cluster::RoleOverview& role);

}  // namespace beckon::tools
