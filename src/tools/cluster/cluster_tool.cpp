#include "tools/cluster/cluster_tool.hpp"

#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/exit_codes.hpp"
#include "console/cluster/cluster_json.hpp"
#include "log/read_partition.hpp"
#include "tools/commands.hpp"
#include "tools/running/tool_log.hpp"

#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

namespace beckon::tools {

namespace {

using cluster::PartitionOverview;
using cluster::PartitionState;

/// The log topics whose fold a home of that role commits, under the role's name as group.
std::vector<log::Topic> topics_of(const std::string& role) {
    if (role == "edge") return {log::Topic::kNotifications, log::Topic::kSubscriptions};
    if (role == "reliability") return {log::Topic::kReliability};
    return {};
}

core::Result<void> add_lags(log::EventLog& log, cluster::RoleOverview& role,
                            std::chrono::milliseconds timeout) {
    std::vector<log::TopicPartition> wanted;
    for (const auto& row : role.partitions) {
        for (const auto topic : topics_of(role.role)) {
            wanted.push_back({topic, row.partition});
        }
    }
    if (wanted.empty()) return {};
    const auto offsets = log::committed_offsets(log, role.role, wanted, timeout);
    if (!offsets) return core::fail(offsets.error());
    const auto ends = log::ends_of(log, wanted, timeout);
    if (!ends) return core::fail(ends.error());
    for (const auto& committed : *offsets) {
        const auto at = ends->find(committed.where);
        if (at == ends->end()) continue;
        const auto from = std::max(committed.offset, at->second.start);
        auto& lag = role.partitions.at(static_cast<std::size_t>(committed.where.partition)).lag;
        lag = lag.value_or(0) + std::max<std::int64_t>(at->second.end - from, 0);
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
        case PartitionState::unplaced:
            return row.home.text.empty() ? "-" : row.home.text + " (gone)";
        case PartitionState::moving:
            return row.home.text + " (takes over from " + row.claimed_by.text + ")";
        case PartitionState::restoring: return row.home.text + " (restoring)";
        case PartitionState::serving: return row.home.text;
    }
    return "-";
}

/// docs/operations/troubleshooting.md#a-hot-partition
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
        const auto* state = !standby.alive ? "gone" : standby.ready ? "ready" : "warming up";
        out += (out.empty() ? "" : ", ") + standby.node.text + " (" + state + ")";
    }
    return or_dash(out);
}

}  // namespace

core::Result<cluster::RoleOverview> read_cluster(log::EventLog& log, Ownership& ownership,
                                                 const std::string& role,
                                                 std::chrono::milliseconds timeout) {
    if (const auto read = ownership.read(timeout); !read) return core::fail(read.error());
    cluster::RoleOverview found;
    found.role = role;
    for (auto& one : ownership.view().roles()) {
        if (one.role == role) found = std::move(one);
    }
    if (const auto lags = add_lags(log, found, timeout); !lags) return core::fail(lags.error());
    return found;
}

std::string cluster_table(const cluster::RoleOverview& role) {
    if (role.nodes.empty() && role.partitions.empty()) {
        return "No node of the role " + role.role + " has ever run on this log.\n";
    }
    std::vector<std::vector<std::string>> nodes{
        {"NODE", "LINK ADDRESS", "CLIENTS", "LINKS", "HOME OF", "STANDBY OF", ""}};
    const auto is_alive = [](const auto& node) { return node.alive; };
    const auto alive = std::ranges::count_if(role.nodes, is_alive);
    for (const auto& node : role.nodes) {
        nodes.push_back(
            {node.id.text, or_dash(node.link_address), or_dash(node.clients),
             node.alive ? std::to_string(node.links.size()) + " of " + std::to_string(alive - 1)
                        : "-",
             std::to_string(node.homes), std::to_string(node.standbys),
             !node.alive       ? "gone"
             : node.controller ? "controller"
                               : ""});
    }
    std::vector<std::vector<std::string>> partitions{
        {"PARTITION", "HOME", "EPOCH", "LAG", "RECORDS/S", "STANDBYS"}};
    for (const auto& row : role.partitions) {
        partitions.push_back({std::to_string(row.partition), home_text(row),
                              std::to_string(row.epoch), or_dash(row.lag),
                              or_dash(row.load) + (row.hot ? " (hot)" : ""), standbys_text(row)});
    }
    const auto hot = std::ranges::find_if(role.partitions, [](const auto& row) { return row.hot; });
    return aligned(nodes) + "\n" + aligned(partitions) +
           (hot != role.partitions.end() ? hot_hint(hot->partition) : "");
}

bool is_well(const cluster::RoleOverview& role) {
    return !role.partitions.empty() && std::ranges::none_of(role.partitions, [](const auto& one) {
        return one.state == PartitionState::unplaced;
    });
}

namespace {

constexpr std::chrono::milliseconds kTimeout{10'000};
constexpr std::chrono::milliseconds kWatchEvery{1'000};
/// Clears a terminal and begins at its top.
constexpr std::string_view kClear = "\x1b[H\x1b[2J";

struct ClusterOptions {
    std::string role = "edge";
    bool json = false;
    bool watch = false;
};

/// One poll; returns the exit code.
int show_cluster(log::EventLog& log, Ownership& ownership, const ClusterOptions& options) {
    const auto role = read_cluster(log, ownership, options.role, kTimeout);
    if (!role) {
        app::print_error("beckon: " + role.error().message);
        return app::kFailed;
    }
    if (options.json) {
        app::print_line(console::to_json({*role}, true));
    } else {
        std::cout << (options.watch ? kClear : "") << cluster_table(*role) << std::flush;
    }
    return is_well(*role) ? app::kDone : app::kNothingFound;
}

int run_cluster(const app::Config& config, const ClusterOptions& options) {
    ToolLog log{config};
    Ownership ownership{log};
    if (!options.watch) return show_cluster(log.log(), ownership, options);
    std::stop_source over;
    const app::StopSignals signals{[&over] { over.request_stop(); }};
    while (!over.stop_requested()) {
        show_cluster(log.log(), ownership, options);
        ownership.follow(kWatchEvery);
    }
    return 0;
}

}  // namespace

void add_cluster_command(app::CommandLine& line) {
    static ClusterOptions options;
    auto& command = line.add(
        line.top(), "cluster",
        "Show the nodes of a role, and the home of each partition. Exit code 3: a partition has "
        "no living home",
        app::Reader::log, [](const auto& config) { return run_cluster(config, options); });
    command.add_option("--role", options.role, "edge, retry or reliability")
        ->check(CLI::IsMember({"edge", "retry", "reliability"}));
    command.add_flag("--json", options.json, "One JSON object in a line");
    command.add_flag("--watch", options.watch, "Show it again every second, until Ctrl-C");
}

}  // namespace beckon::tools
