#pragma once

#include "app/config/config.hpp"
#include "client/api_client.hpp"

#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

/// How a command comes to the API of the role `retry`.

/// The common part of the commands that ask the API of the role `retry`.
namespace beckon::tools {

struct ApiAccess {
    std::string url{};    ///< empty: http://<retry.host>:<retry.port>
    std::string token{};  ///< empty: made with the key ring of the configuration, for `owner`
    std::string owner = "default";
    /// Whether the token that is made lets events reach the webhooks of all owners.
    bool publishes_to_all = false;
    /// The token that is made is an operator's, who sees the webhooks of all owners, and sees and
    /// settles their dead letters.
    bool all_owners = false;
    std::string ca_file{};
    bool insecure = false;
};

/// Throws StartupError: no token and no key ring that we may read, or no name of an owner.
client::ApiClient::Options api_options(const app::Config& config, const ApiAccess& access);

/// The token of an owner, made with the key ring of the configuration. Throws StartupError.
std::string token_of(const app::Config& config, const std::string& owner, bool publishes_to_all);

}  // namespace beckon::tools

namespace CLI {

class App;

}  // namespace CLI

namespace beckon::app {

class CommandLine;

}  // namespace beckon::app

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
