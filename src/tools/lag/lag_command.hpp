#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `lag`.
void add_lag_command(CommandLine& line);

}  // namespace beckon::cli
