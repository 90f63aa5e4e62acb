#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/exit_codes.hpp"
#include "console/cluster/cluster_json.hpp"
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

int run_cluster(app::Config config, const ClusterOptions& options) {
    ToolLog log{config};
    Ownership ownership{{.partitions = log.control().partitions, .unreported = log.unreported()},
                        log.log()};
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
    auto& command = line.add_configured(
        line.top(), "cluster",
        "Show the nodes of a role, and the home of each partition. Exit code 3: a partition has "
        "no living home",
        app::Reader::log, [](app::Config config, const app::Sources&) {
            return run_cluster(std::move(config), options);
        });
    command.add_option("--role", options.role, "edge, retry or reliability")
        ->check(CLI::IsMember({"edge", "retry", "reliability"}));
    command.add_flag("--json", options.json, "One JSON object in a line");
    command.add_flag("--watch", options.watch, "Show it again every second, until Ctrl-C");
}

}  // namespace beckon::tools
