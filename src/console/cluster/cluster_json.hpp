#pragma once

#include "cluster/overview.hpp"
#include "console/cluster/processes.hpp"

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace beckon::console {

/// The console's page `cluster`, and the line of `beckon cluster --json`: {"complete", "roles":
/// [{"name", "controller_epoch", "nodes": [{"id", "name", "link", "alive", "clients", "links",
/// "homes", "standbys", "controller"}, …], "partitions": [{"partition", "state", "home", "from",
/// "standbys", "ready", "epoch", "lag", "load", "hot", "moving"}, …]}, …]}; `from`: the node with
/// the highest epoch while a hand-over is under way; `lag`: of the command alone. Pure.
std::string to_json(const std::vector<cluster::RoleOverview>& roles, bool complete);

/// [{"at", "status", "problem", "message", "count", "by"}, …]
nlohmann::ordered_json refused_json(const std::vector<RefusedFacts>& refused);
/// Lines for people.
std::string to_text(const std::vector<RefusedFacts>& refused);

}  // namespace beckon::console
