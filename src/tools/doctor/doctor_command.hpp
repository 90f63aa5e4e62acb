#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `doctor`. Exit codes: 0 nothing is bad, 1 something is.
void add_doctor_command(CommandLine& line);

}  // namespace beckon::cli
