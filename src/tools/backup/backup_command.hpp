#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `backup`.
void add_backup_command(CommandLine& line);

}  // namespace beckon::cli
