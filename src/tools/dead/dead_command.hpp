#pragma once

namespace CLI {
class App;
}

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// `beckon dead list|show|redrive|drop`.
void add_dead_commands(app::CommandLine& line);
/// `beckon webhooks redrive ID`.
void add_webhook_redrive(app::CommandLine& line, CLI::App& group);

}  // namespace beckon::tools
