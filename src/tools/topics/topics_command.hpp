#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `topics` and its commands. Exit codes: 0 done, 1 refused or failed.
void add_topics_command(CommandLine& line);

}  // namespace beckon::cli
