#include "console/cluster/cluster_json.hpp"

#include "core/json_text.hpp"
#include "core/time_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

using nlohmann::json;

using cluster::PartitionState;

json node_json(const cluster::NodeOverview& node) {
    json links = json::array();
    for (const auto& peer : node.links) links.push_back(peer.text);
    return {
        {"id", node.id.text},           {"name", node.name},
        {"link", node.link_address},    {"alive", node.alive},
        {"links", std::move(links)},    {"clients", node.clients ? json(*node.clients) : json()},
        {"homes", node.homes},          {"standbys", node.standbys},
        {"controller", node.controller}};
}

json partition_json(const cluster::PartitionOverview& one) {
    json standbys = json::array();
    json ready = json::array();
    for (const auto& standby : one.standbys) {
        standbys.push_back(standby.node.text);
        if (standby.ready) ready.push_back(standby.node.text);
    }
    const bool moving = one.state == PartitionState::moving;
    return {{"partition", one.partition},
            {"state", to_string(one.state)},
            {"home", one.home.text},
            {"from", moving ? one.claimed_by.text : ""},
            {"standbys", std::move(standbys)},
            {"ready", std::move(ready)},
            {"epoch", one.epoch},
            {"lag", one.lag ? json(*one.lag) : json()},
            {"load", one.load ? json(*one.load) : json()},
            {"hot", one.hot},
            {"moving", moving || one.state == PartitionState::restoring}};
}

json role_json(const cluster::RoleOverview& role) {
    json nodes = json::array();
    for (const auto& node : role.nodes) nodes.push_back(node_json(node));
    json partitions = json::array();
    for (const auto& one : role.partitions) partitions.push_back(partition_json(one));
    return {{"name", role.role},
            {"controller_epoch", role.controller_epoch},
            {"nodes", std::move(nodes)},
            {"partitions", std::move(partitions)}};
}

}  // namespace

std::string to_json(const std::vector<cluster::RoleOverview>& roles, bool complete) {
    json reported = json::array();
    for (const auto& role : roles) reported.push_back(role_json(role));
    return core::json_text(json{{"complete", complete}, {"roles", std::move(reported)}});
}

nlohmann::ordered_json refused_json(const std::vector<RefusedFacts>& refused) {
    auto out = nlohmann::ordered_json::array();
    for (const auto& [by, send] : refused) {
        out.push_back({{"at", send.at.time_since_epoch().count()},
                       {"by", by},
                       {"count", send.count},
                       {"message", send.message},
                       {"problem", send.problem},
                       {"status", send.status}});
    }
    return out;
}

std::string to_text(const std::vector<RefusedFacts>& refused) {
    if (refused.empty()) return "No POST to it is known that was refused within the last hour.\n";
    std::string out = "POSTs to it that were refused within the last hour, by endpoint:\n";
    for (const auto& [by, send] : refused) {
        out += "  " + core::time_text(send.at) + " " + by + ": " + std::to_string(send.status) +
               " " + send.problem + ": " + send.message +
               (send.count > 1 ? " (" + std::to_string(send.count) + " times)" : "") + "\n";
    }
    return out;
}

}  // namespace beckon::console
