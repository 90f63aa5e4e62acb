#include "app/command_line.hpp"
#include "tools/broadcasts/broadcasts_tool.hpp"
#include "tools/commands.hpp"

#include <CLI/CLI.hpp>

namespace beckon::tools {

void add_broadcasts_command(app::CommandLine& line) {
    static edge::BroadcastSet set;
    static std::string version;
    static edge::BroadcastSet gone;
    auto& group = line.add_group("broadcasts", "Ids with versions that concern every client");
    auto& set_command = line.add_configured(
        group, "set",
        "Set the version of a broadcast; every client that follows it is notified at once",
        app::Reader::broadcasts, [](app::Config config, const app::Sources&) {
            return broadcasts_change(std::move(config), {.id = set.id, .version = version});
        });
    set_command.add_option("ID", set.id, "Such as remote-settings/monitor_changes")->required();
    set_command
        .add_option("VERSION", version, "Any text that differs from the present one is a change")
        ->required();
    line.add_configured(
        group, "list", "Show all broadcasts with their versions", app::Reader::broadcasts,
        [](app::Config config, const app::Sources&) { return broadcasts_list(std::move(config)); });
    line.add_configured(group, "delete", "Remove a broadcast; no client follows it any more",
                        app::Reader::broadcasts,
                        [](app::Config config, const app::Sources&) {
                            return broadcasts_change(std::move(config), gone);
                        })
        .add_option("ID", gone.id, "As `beckon broadcasts list` shows it")
        ->required();
    line.add_configured(
        group, "token", "Print the token for /broadcasts/set at the ops port",
        app::Reader::broadcasts,
        [](const app::Config& config, const app::Sources&) { return broadcasts_token(config); });
}

}  // namespace beckon::tools
