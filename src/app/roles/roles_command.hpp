#pragma once

namespace beckon::app {

class CommandLine;

/// Adds `standalone`, `endpoint` and `edge`.
void add_roles_commands(CommandLine& line);

}  // namespace beckon::app
