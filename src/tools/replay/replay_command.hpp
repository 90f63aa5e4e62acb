#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `replay` and its commands. Exit codes: 0 something was shown, 1 failed, 2 the options are
/// wrong, 3 nothing fits the selection. `verify`: 0 all partitions agree, 1 one does not.
void add_replay_commands(CommandLine& line);

}  // namespace beckon::cli
