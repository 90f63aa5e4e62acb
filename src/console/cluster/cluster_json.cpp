#include "console/cluster/cluster_json.hpp"

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

using nlohmann::json;

json node_json(const ClusterNode& node) {
    return {{"id", node.id},
            {"link", node.link},
            {"homes", node.homes},
            {"standbys", node.standbys},
            {"controller", node.controller}};
}

json partition_json(const PlacedPartition& one) {
    return {{"partition", one.partition}, {"home", one.home},         {"standbys", one.standbys},
            {"ready", one.ready},         {"epoch", one.lease_epoch}, {"moving", one.moving}};
}

json role_json(const ClusterRole& role) {
    json nodes = json::array();
    for (const auto& node : role.nodes) nodes.push_back(node_json(node));
    json partitions = json::array();
    for (const auto& one : role.partitions) partitions.push_back(partition_json(one));
    return {{"name", role.name},
            {"controller_epoch", role.controller_epoch},
            {"nodes", std::move(nodes)},
            {"partitions", std::move(partitions)}};
}

}  // namespace

std::string to_json(const std::vector<ClusterRole>& roles, bool complete) {
    json told = json::array();
    for (const auto& role : roles) told.push_back(role_json(role));
    return json{{"complete", complete}, {"roles", std::move(told)}}.dump(
        -1, ' ', false, json::error_handler_t::replace);
}

}  // namespace beckon::console
