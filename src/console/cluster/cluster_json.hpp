#pragma once

#include "console/cluster/ownership_view.hpp"

#include <string>
#include <vector>

namespace beckon::console {

/// {"complete", "roles": [{"name", "controller_epoch", "nodes": [{"id", "link", "homes",
/// "standbys", "controller"}, …], "partitions": [{"partition", "home", "standbys", "ready",
/// "epoch", "moving"}, …]}, …]}. Pure.
std::string to_json(const std::vector<ClusterRole>& roles, bool complete);

}  // namespace beckon::console
