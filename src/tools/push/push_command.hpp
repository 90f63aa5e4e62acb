#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `listen` and `push`.
void add_push_commands(CommandLine& line);

}  // namespace beckon::cli
