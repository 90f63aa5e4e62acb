#pragma once

namespace CLI {
class App;
}

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `counts`, `show` and `report` to `beckon reliability`, which is a role by itself. They ask
/// the ops port of a process with that role.
void add_reliability_commands(app::CommandLine& line, CLI::App& role);

}  // namespace beckon::tools
