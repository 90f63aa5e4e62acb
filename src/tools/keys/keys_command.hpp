#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `keys` and its commands.
void add_keys_command(CommandLine& line);

}  // namespace beckon::cli
