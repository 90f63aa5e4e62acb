#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `message`. Exit codes: 0 found, 1 failed, 3 the log has nothing of it.
void add_lookup_commands(CommandLine& line);

}  // namespace beckon::cli
