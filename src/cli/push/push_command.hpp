#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace beckon::cli {

/// Adds `listen`, `push` and `demo` to the command line; the one that is named becomes
/// `chosen`.
void add_push_commands(CLI::App& app, std::function<int()>& chosen);

}  // namespace beckon::cli
