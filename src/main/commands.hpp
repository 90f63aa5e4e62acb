#pragma once

namespace beckon::app {
class CommandLine;
}

/// The commands that stand above roles and tools: a role has its tools below it, and a demo may
/// start a server.
namespace beckon {

/// Adds a command for each role, `standalone` among them.
void add_roles_commands(app::CommandLine& line);
/// Adds `demo`, which may start a server of its own.
void add_demo_command(app::CommandLine& line);

}  // namespace beckon
