#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `replay` and its commands. Exit codes: 0 something was shown, 1 failed, 2 the options are
/// wrong, 3 nothing fits the selection. `verify`: 0 all partitions agree, 1 one does not.
void add_replay_commands(app::CommandLine& line);

}  // namespace beckon::tools
