#include "app/command_line.hpp"
#include "tools/backup/backup_tool.hpp"
#include "tools/commands.hpp"

#include <CLI/CLI.hpp>

namespace beckon::tools {

void add_backup_command(app::CommandLine& line) {
    static std::filesystem::path target;
    line.add_configured(line.top(), "backup",
                        "Copy the embedded log and the key ring, also while they are in use",
                        app::Reader::running,
                        [](const app::Config& config, const app::Sources&) {
                            return run_backup(config, target);
                        })
        .add_option("DIRECTORY", target, "Where the copy goes; must not exist")
        ->required();
}

}  // namespace beckon::tools
