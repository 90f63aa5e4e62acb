#pragma once

#include "tools/api/access.hpp"

#include <functional>

namespace CLI {
class App;
}

namespace beckon::app {
class CommandLine;
}

/// The common part of the commands that ask the API of the role `retry`.
namespace beckon::tools {

void add_api_access(CLI::App& command, ApiAccess& access);

struct CommandText {
    const char* name;
    const char* help;
};
/// A command that opens the API and runs; `access` outlives it.
CLI::App& add_api_command(app::CommandLine& line, CLI::App& parent, CommandText text,
                          ApiAccess& access, const std::function<int(client::ApiClient&)>& run);

}  // namespace beckon::tools
