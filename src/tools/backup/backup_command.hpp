#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `backup`.
void add_backup_command(app::CommandLine& line);

}  // namespace beckon::tools
