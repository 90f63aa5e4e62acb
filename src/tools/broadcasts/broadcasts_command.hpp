#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `broadcasts` and its commands.
void add_broadcasts_command(app::CommandLine& line);

}  // namespace beckon::tools
