#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `cluster`.
void add_cluster_command(app::CommandLine& line);

}  // namespace beckon::tools
