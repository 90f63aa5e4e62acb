#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `standalone`, `endpoint` and `edge`.
void add_roles_commands(CommandLine& line);

}  // namespace beckon::cli
