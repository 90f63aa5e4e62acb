#pragma once

namespace beckon::app {

class CommandLine;

/// Adds `demo`, which may start a server of its own.
void add_demo_command(CommandLine& line);

}  // namespace beckon::app
