#pragma once

namespace CLI {
class App;
}

namespace beckon::cli {

class CommandLine;

/// `beckon dead list|show|redrive|drop`.
void add_dead_commands(CommandLine& line);
/// `beckon webhooks redrive ID`.
void add_webhook_redrive(CommandLine& line, CLI::App& group);

}  // namespace beckon::cli
