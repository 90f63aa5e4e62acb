#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace beckon::cli {

/// Adds `bench` to the command line; `chosen` becomes it if it is named.
void add_bench_command(CLI::App& app, std::function<int()>& chosen);

}  // namespace beckon::cli
