#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `topics` and its commands. Exit codes: 0 done, 1 refused or failed.
void add_topics_command(app::CommandLine& line);

}  // namespace beckon::tools
