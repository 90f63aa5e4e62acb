#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `subscriptions` and its commands.
void add_subscriptions_command(CommandLine& line);

}  // namespace beckon::cli
