#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `config` and its commands.
void add_config_command(CommandLine& line);

}  // namespace beckon::cli
