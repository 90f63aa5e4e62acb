#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `trace`. Exit codes: 0 found, 1 failed, 3 the log has nothing of it.
void add_trace_command(CommandLine& line);

}  // namespace beckon::cli
