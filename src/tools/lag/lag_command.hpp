#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `lag`.
void add_lag_command(app::CommandLine& line);

}  // namespace beckon::tools
