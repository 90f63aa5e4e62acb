#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `message`, and its alias `trace`.
void add_message_command(app::CommandLine& line);

}  // namespace beckon::tools
