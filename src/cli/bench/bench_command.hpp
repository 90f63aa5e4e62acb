#pragma once

namespace beckon::cli {

class CommandLine;

/// Adds `bench`.
void add_bench_command(CommandLine& line);

}  // namespace beckon::cli
