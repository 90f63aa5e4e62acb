#include "tools/cluster/cluster_tool.hpp"

#include "cluster/ownership_fold.hpp"
#include "core/json_text.hpp"
#include "log/read_partition.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

using Json = nlohmann::ordered_json;
using cluster::OwnershipFold;
using cluster::PartitionOverview;
using cluster::PartitionState;

const log::TopicPartition kOwnership{log::Topic::kOwnership, 0};

/// The log topics whose fold a home of that role commits, under the role's name as group.
std::vector<log::Topic> topics_of(const std::string& role) {
    if (role == "edge") return {log::Topic::kNotifications, log::Topic::kSubscriptions};
    if (role == "reliability") return {log::Topic::kReliability};
    return {};
}

core::Result<void> add_lags(log::EventLog& log, ClusterView& view,
                            std::chrono::milliseconds timeout) {
    std::vector<log::TopicPartition> wanted;
    for (const auto& row : view.role.partitions) {
        for (const auto topic : topics_of(view.role.role)) {
            wanted.push_back({topic, row.partition});
        }
    }
    if (wanted.empty()) return {};
    const auto offsets = log::committed_offsets(log, view.role.role, wanted, timeout);
    if (!offsets) return core::fail(offsets.error());
    const auto ends = log::ends_of(log, wanted, timeout);
    if (!ends) return core::fail(ends.error());
    for (const auto& committed : *offsets) {
        const auto at = ends->find(committed.where);
        if (at == ends->end()) continue;
        const auto from = std::max(committed.offset, at->second.start);
        view.lags[committed.where.partition] += std::max<std::int64_t>(at->second.end - from, 0);
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

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

template <class Number>
std::string or_dash(const std::optional<Number>& number) {
    return number ? std::to_string(*number) : "-";
}

std::string home_text(const PartitionOverview& row) {
    switch (row.state) {
        case PartitionState::unplaced: return "-";
        case PartitionState::moving:
            return row.home.text + " (takes over from " + row.claimed_by.text + ")";
        case PartitionState::restoring: return row.home.text + " (restoring)";
        case PartitionState::serving: return row.home.text;
    }
    return "-";
}

/// docs/operations.md#a-hot-partition
std::string hot_hint(core::Partition partition) {
    return "\nA hot partition gets several times the records of the others, most often for one "
           "client:\n"
           "`beckon replay show --topic notifications --partition " +
           std::to_string(partition) +
           " --since -10s --limit 20` names it.\n"
           "Limit its sender. More partitions do not divide one client; more edges leave its home "
           "less other work.\n";
}

std::string standbys_text(const PartitionOverview& row) {
    std::string out;
    for (const auto& standby : row.standbys) {
        out += (out.empty() ? "" : ", ") + standby.node.text +
               (standby.ready ? " (ready)" : " (warming up)");
    }
    return or_dash(out);
}

std::optional<std::int64_t> lag_of(const ClusterView& view, core::Partition partition) {
    const auto known = view.lags.find(partition);
    if (known == view.lags.end()) return std::nullopt;
    return known->second;
}

Json json_of(const cluster::NodeOverview& node) {
    auto links = Json::array();
    for (const auto& peer : node.links) links.push_back(peer.text);
    return {{"node", node.id.text},
            {"link_address", node.link_address},
            {"controller", node.controller},
            {"clients", node.clients ? Json(*node.clients) : Json(nullptr)},
            {"links", std::move(links)},
            {"home_of", node.homes},
            {"standby_of", node.standbys}};
}

Json json_of(const PartitionOverview& row, const std::optional<std::int64_t>& lag) {
    auto standbys = Json::array();
    for (const auto& standby : row.standbys) {
        standbys.push_back({{"node", standby.node.text}, {"ready", standby.ready}});
    }
    return {{"partition", row.partition},
            {"home", row.home.text},
            {"epoch", row.epoch},
            {"state", to_string(row.state)},
            {"moving", row.state == PartitionState::moving},
            {"lag", lag ? Json(*lag) : Json(nullptr)},
            {"load", row.load ? Json(*row.load) : Json(nullptr)},
            {"hot", row.hot},
            {"standbys", std::move(standbys)}};
}

}  // namespace

core::Result<ClusterView> read_cluster(log::EventLog& log, const std::string& role,
                                       core::Partition partitions,
                                       std::chrono::milliseconds timeout) {
    OwnershipFold fold{role, partitions};
    const auto read = log::read_partition(
        log, kOwnership, [&](const core::RecordView& record) { fold.apply(record); }, timeout);
    if (!read) return core::fail(read.error());
    ClusterView view{.role = overview_of(fold), .lags = {}};
    const auto lags = add_lags(log, view, timeout);
    if (!lags) return core::fail(lags.error());
    return view;
}

std::string cluster_table(const ClusterView& view) {
    const auto& role = view.role;
    if (role.nodes.empty() && role.partitions.empty()) {
        return "No node of the role " + role.role + " has ever run on this log.\n";
    }
    std::vector<std::vector<std::string>> nodes{
        {"NODE", "LINK ADDRESS", "CLIENTS", "LINKS", "HOME OF", "STANDBY OF", ""}};
    const auto others = role.nodes.empty() ? 0 : role.nodes.size() - 1;
    for (const auto& node : role.nodes) {
        nodes.push_back({node.id.text, or_dash(node.link_address), or_dash(node.clients),
                         std::to_string(node.links.size()) + " of " + std::to_string(others),
                         std::to_string(node.homes), std::to_string(node.standbys),
                         node.controller ? "controller" : ""});
    }
    std::vector<std::vector<std::string>> partitions{
        {"PARTITION", "HOME", "EPOCH", "LAG", "RECORDS/S", "STANDBYS"}};
    for (const auto& row : role.partitions) {
        partitions.push_back({std::to_string(row.partition), home_text(row),
                              std::to_string(row.epoch), or_dash(lag_of(view, row.partition)),
                              or_dash(row.load) + (row.hot ? " (hot)" : ""), standbys_text(row)});
    }
    const auto hot = std::find_if(role.partitions.begin(), role.partitions.end(),
                                  [](const auto& row) { return row.hot; });
    return aligned(nodes) + "\n" + aligned(partitions) +
           (hot != role.partitions.end() ? hot_hint(hot->partition) : "");
}

std::string cluster_json(const ClusterView& view) {
    auto nodes = Json::array();
    for (const auto& node : view.role.nodes) nodes.push_back(json_of(node));
    auto partitions = Json::array();
    for (const auto& row : view.role.partitions) {
        partitions.push_back(json_of(row, lag_of(view, row.partition)));
    }
    return core::json_text(Json{{"role", view.role.role},
                                {"nodes", std::move(nodes)},
                                {"partitions", std::move(partitions)}});
}

}  // namespace beckon::tools
