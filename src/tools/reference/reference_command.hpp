#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `reference`, which help does not list: it is for packagers.
void add_reference_command(app::CommandLine& line);

}  // namespace beckon::tools
