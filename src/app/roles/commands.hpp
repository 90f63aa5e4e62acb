#pragma once

namespace beckon::app {

class CommandLine;

/// Adds a command for each role, `standalone` among them.
void add_roles_commands(CommandLine& line);
/// Adds `demo`, which may start a server of its own.
void add_demo_command(CommandLine& line);

}  // namespace beckon::app
