#include "tools/backup/backup_command.hpp"

#include "tools/backup/backup_tool.hpp"
#include "app/command_line.hpp"

#include <CLI/CLI.hpp>

namespace beckon::cli {

void add_backup_command(CommandLine& line) {
    static std::filesystem::path target;
    line.add_configured(
            line.top(), "backup",
            "Copy the embedded log and the key ring, also while they are in use", Reader::running,
            [](const Config& config, const Sources&) { return run_backup(config, target); })
        .add_option("DIRECTORY", target, "Where the copy goes; must not exist")
        ->required();
}

}  // namespace beckon::cli
