#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `keys` and its commands.
void add_keys_command(app::CommandLine& line);

}  // namespace beckon::tools
