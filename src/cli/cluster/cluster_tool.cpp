#include "cli/cluster/cluster_tool.hpp"

#include "cluster/ownership_fold.hpp"
#include "log/read_partition.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::cli {

namespace {

using Json = nlohmann::ordered_json;
using cluster::OwnershipFold;

const log::TopicPartition kOwnership{log::Topic::kOwnership, 0};

std::vector<ClusterPartition> partitions_of(const OwnershipFold& fold) {
    std::vector<ClusterPartition> out;
    for (const auto& [partition, placement] : fold.placed()) {
        const auto claim = fold.highest_claim(partition);
        ClusterPartition row{.partition = partition,
                             .home = placement.home,
                             .claimed_by = claim.node,
                             .epoch = claim.epoch,
                             .standbys = {},
                             .lag = std::nullopt};
        for (const auto& node : placement.standbys) {
            row.standbys.push_back({.node = node, .ready = fold.is_ready(node, partition)});
        }
        out.push_back(std::move(row));
    }
    return out;
}

std::vector<ClusterNode> nodes_of(const OwnershipFold& fold,
                                  const std::vector<ClusterPartition>& partitions) {
    std::vector<ClusterNode> out;
    for (const auto& [id, record] : fold.nodes()) {
        ClusterNode row{.id = id,
                        .link_address = record.link_url,
                        .controller = id == fold.controller(),
                        .clients = record.clients,
                        .links = {record.links.begin(), record.links.end()}};
        for (const auto& partition : partitions) {
            if (partition.home == id) ++row.homes;
            for (const auto& standby : partition.standbys) row.standbys += standby.node == id;
        }
        out.push_back(std::move(row));
    }
    return out;
}

/// The log topics whose fold a home of that role commits, under the role's name as group.
std::vector<log::Topic> topics_of(const std::string& role) {
    if (role == "edge") return {log::Topic::kNotifications, log::Topic::kSubscriptions};
    if (role == "reliability") return {log::Topic::kReliability};
    return {};
}

core::Result<void> add_lags(log::EventLog& log, const std::string& role,
                            std::vector<ClusterPartition>& rows,
                            std::chrono::milliseconds timeout) {
    std::vector<log::TopicPartition> wanted;
    for (const auto& row : rows) {
        for (const auto topic : topics_of(role)) wanted.push_back({topic, row.partition});
    }
    if (wanted.empty()) return {};
    const auto offsets = log::committed_offsets(log, role, wanted, timeout);
    if (!offsets) return core::fail(offsets.error());
    const auto ends = log::ends_of(log, wanted, timeout);
    if (!ends) return core::fail(ends.error());
    for (const auto& committed : *offsets) {
        const auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& candidate) {
            return candidate.partition == committed.where.partition;
        });
        const auto at = ends->find(committed.where);
        if (row == rows.end() || at == ends->end()) continue;
        const auto from = std::max(committed.offset, at->second.start);
        row->lag = row->lag.value_or(0) + std::max<std::int64_t>(at->second.end - from, 0);
    }
    return {};
}

/// Columns as wide as their widest cell, two spaces between them.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string out;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i];
            if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
        }
        out += line + "\n";
    }
    return out;
}

std::string or_dash(std::string text) { return text.empty() ? "-" : text; }

template <class Number>
std::string or_dash(const std::optional<Number>& number) {
    return number ? std::to_string(*number) : "-";
}

}  // namespace

core::Result<ClusterView> read_cluster(log::EventLog& log, const std::string& role,
                                       core::Partition partitions,
                                       std::chrono::milliseconds timeout) {
    OwnershipFold fold{role, partitions};
    const auto read = log::read_partition(
        log, kOwnership, [&](const core::RecordView& record) { fold.apply(record); }, timeout);
    if (!read) return core::fail(read.error());
    ClusterView view{.role = role, .nodes = {}, .partitions = partitions_of(fold)};
    view.nodes = nodes_of(fold, view.partitions);
    const auto lags = add_lags(log, role, view.partitions, timeout);
    if (!lags) return core::fail(lags.error());
    return view;
}

std::string cluster_table(const ClusterView& view) {
    if (view.nodes.empty() && view.partitions.empty()) {
        return "No node of the role " + view.role + " has ever run on this log.\n";
    }
    std::vector<std::vector<std::string>> nodes{
        {"NODE", "LINK ADDRESS", "CLIENTS", "LINKS", "HOME OF", "STANDBY OF", ""}};
    for (const auto& node : view.nodes) {
        nodes.push_back(
            {node.id.text, or_dash(node.link_address), or_dash(node.clients),
             std::to_string(node.links.size()) + " of " + std::to_string(view.nodes.size() - 1),
             std::to_string(node.homes), std::to_string(node.standbys),
             node.controller ? "controller" : ""});
    }
    std::vector<std::vector<std::string>> partitions{
        {"PARTITION", "HOME", "EPOCH", "LAG", "STANDBYS"}};
    for (const auto& row : view.partitions) {
        std::string standbys;
        for (const auto& standby : row.standbys) {
            standbys += (standbys.empty() ? "" : ", ") + standby.node.text +
                        (standby.ready ? " (ready)" : " (warming up)");
        }
        partitions.push_back(
            {std::to_string(row.partition),
             row.home.text +
                 (row.moving() ? " (takes over from " + or_dash(row.claimed_by.text) + ")" : ""),
             std::to_string(row.epoch), or_dash(row.lag), or_dash(standbys)});
    }
    return aligned(nodes) + "\n" + aligned(partitions);
}

std::string cluster_json(const ClusterView& view) {
    auto nodes = Json::array();
    for (const auto& node : view.nodes) {
        auto links = Json::array();
        for (const auto& peer : node.links) links.push_back(peer.text);
        nodes.push_back({{"node", node.id.text},
                         {"link_address", node.link_address},
                         {"controller", node.controller},
                         {"clients", node.clients ? Json(*node.clients) : Json(nullptr)},
                         {"links", std::move(links)},
                         {"home_of", node.homes},
                         {"standby_of", node.standbys}});
    }
    auto partitions = Json::array();
    for (const auto& row : view.partitions) {
        auto standbys = Json::array();
        for (const auto& standby : row.standbys) {
            standbys.push_back({{"node", standby.node.text}, {"ready", standby.ready}});
        }
        partitions.push_back({{"partition", row.partition},
                              {"home", row.home.text},
                              {"epoch", row.epoch},
                              {"moving", row.moving()},
                              {"lag", row.lag ? Json(*row.lag) : Json(nullptr)},
                              {"standbys", std::move(standbys)}});
    }
    return Json{
        {"role", view.role}, {"nodes", std::move(nodes)}, {"partitions", std::move(partitions)}}
        .dump();
}

}  // namespace beckon::cli
