#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `message`.
void add_lookup_commands(CommandLine& line);

}  // namespace beckon::cli
