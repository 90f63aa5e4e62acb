#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `reference`, which help does not list: it is for packagers.
void add_reference_command(CommandLine& line);

}  // namespace beckon::cli
