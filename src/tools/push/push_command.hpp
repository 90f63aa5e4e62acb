#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `listen` and `push`.
void add_push_commands(app::CommandLine& line);

}  // namespace beckon::tools
