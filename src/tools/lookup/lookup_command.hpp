#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `message`. Exit codes: 0 found, 1 failed, 3 the log has nothing of it.
void add_lookup_commands(app::CommandLine& line);

}  // namespace beckon::tools
