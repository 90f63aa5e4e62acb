#pragma once

namespace beckon::app {

class CommandLine;

/// Adds `config` and its commands.
void add_config_command(CommandLine& line);

}  // namespace beckon::app
