#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `cluster`.
void add_cluster_command(CommandLine& line);

}  // namespace beckon::cli
