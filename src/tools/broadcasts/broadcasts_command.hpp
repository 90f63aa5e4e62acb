#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `broadcasts` and its commands.
void add_broadcasts_command(CommandLine& line);

}  // namespace beckon::cli
