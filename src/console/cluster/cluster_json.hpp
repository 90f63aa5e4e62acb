#pragma once

#include "cluster/overview.hpp"

#include <string>
#include <vector>

namespace beckon::console {

/// {"complete", "roles": [{"name", "controller_epoch", "nodes": [{"id", "name", "link", "clients",
/// "links", "homes", "standbys", "controller"}, …], "partitions": [{"partition", "state", "home",
/// "from", "standbys", "ready", "epoch", "moving"}, …]}, …]}; `from`: the node with the highest
/// epoch while a hand-over is under way. Pure.
std::string to_json(const std::vector<cluster::RoleOverview>& roles, bool complete);

}  // namespace beckon::console
