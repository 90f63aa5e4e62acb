#include "app/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/lag/lag_tool.hpp"

#include <CLI/CLI.hpp>

namespace beckon::tools {

void add_lag_command(app::CommandLine& line) {
    static LagOptions options;
    auto& command = line.add_configured(
        line.top(), "lag",
        "Show how far every consumer group is behind: from the brokers where --kafka-servers "
        "is given, else from the running console or standalone at --ops-port. Exit code 3: a "
        "group is STALLED or STOPPED, or loses records",
        app::Reader::lag,
        [](const app::Config& config, const app::Sources&) { return show_lag(config, options); });
    command.add_flag("--watch", options.watch, "Show it again and again, until Ctrl-C");
    command.add_flag("--json", options.json, "One line of JSON for each poll");
    command.add_flag("--by-partition", options.partitions,
                     "A row for each partition of a group, with its owner");
    command.add_flag("--behind", options.only_behind, "Leave out rows that are OK");
    command.add_option("--group", options.group, "Only this group");
}

}  // namespace beckon::tools
