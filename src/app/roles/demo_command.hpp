#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `demo`, which may start a server of its own.
void add_demo_command(CommandLine& line);

}  // namespace beckon::cli
