#pragma once

namespace beckon::app {
class CommandLine;
}

namespace beckon::tools {

/// Adds `doctor`. Exit codes: 0 nothing is bad, 1 something is.
void add_doctor_command(app::CommandLine& line);

}  // namespace beckon::tools
