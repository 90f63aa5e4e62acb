#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `listen`, `push` and `demo`.
void add_push_commands(CommandLine& line);

}  // namespace beckon::cli
