#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "core/pause.hpp"
#include "tools/cluster/cluster_tool.hpp"
#include "tools/commands.hpp"
#include "tools/running/tool_log.hpp"

#include <iostream>

#include <CLI/CLI.hpp>

namespace beckon::tools {

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

/// One poll; false if the log did not answer.
bool show_cluster(log::EventLog& log, const ClusterOptions& options, core::Partition partitions) {
    const auto view = read_cluster(log, options.role, partitions, kTimeout);
    if (!view) {
        app::print_error("beckon: " + view.error().message);
        return false;
    }
    if (options.json) {
        app::print_line(cluster_json(*view));
    } else {
        std::cout << (options.watch ? kClear : "") << cluster_table(*view) << std::flush;
    }
    return true;
}

int run_cluster(app::Config config, const ClusterOptions& options) {
    ToolLog log{config};
    const auto partitions = log.control().partitions;
    if (!options.watch) return show_cluster(log.log(), options, partitions) ? 0 : 1;
    std::stop_source over;
    const app::StopSignals signals{[&over] { over.request_stop(); }};
    do {
        show_cluster(log.log(), options, partitions);
    } while (core::pause(over.get_token(), kWatchEvery));
    return 0;
}

}  // namespace

void add_cluster_command(app::CommandLine& line) {
    static ClusterOptions options;
    auto& command = line.add_configured(
        line.top(), "cluster", "Show the nodes of a role, and the home of each partition",
        app::Reader::log, [](app::Config config, const app::Sources&) {
            return run_cluster(std::move(config), options);
        });
    command.add_option("--role", options.role, "edge, retry or reliability")
        ->check(CLI::IsMember({"edge", "retry", "reliability"}));
    command.add_flag("--json", options.json, "One JSON object in a line");
    command.add_flag("--watch", options.watch, "Show it again every second, until Ctrl-C");
}

}  // namespace beckon::tools
