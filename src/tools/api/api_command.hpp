#pragma once

#include "tools/api/access.hpp"

#include <functional>

#include <nlohmann/json_fwd.hpp>

namespace CLI {
class App;
}

namespace beckon::app {
class CommandLine;
}

/// The common part of the commands that ask the API of the role `retry`.
namespace beckon::tools {

void add_api_access(CLI::App& command, ApiAccess& access);
/// Adds `--all-owners`, behind add_api_access().
void add_all_owners(CLI::App& command, ApiAccess& access, const char* help);

struct CommandText {
    const char* name;
    const char* help;
};
/// A command that opens the API and runs; `access` outlives it.
CLI::App& add_api_command(app::CommandLine& line, CLI::App& parent, CommandText text,
                          ApiAccess& access, const std::function<int(client::ApiClient&)>& run);

/// The body; an empty object where it is no JSON.
nlohmann::ordered_json parsed(const client::ApiAnswer& answer);

/// Prints a good answer as JSON for people, any other like refused(); returns the exit code.
int print_answer(const core::Result<client::ApiAnswer>& answer);
/// Prints an answer that is not good, for people; returns the exit code.
int refused(const core::Result<client::ApiAnswer>& answer);

}  // namespace beckon::tools
