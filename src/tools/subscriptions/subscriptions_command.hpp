#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `subscriptions` and its commands.
void add_subscriptions_command(app::CommandLine& line);

}  // namespace beckon::tools
