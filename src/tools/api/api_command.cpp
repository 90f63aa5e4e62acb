#include "tools/api/api_command.hpp"

#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/exit_codes.hpp"
#include "app/process/process.hpp"
#include "core/authority.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "retry/api/owner_token.hpp"

#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace beckon::tools {

using Json = nlohmann::ordered_json;

Json parsed(const client::ApiAnswer& answer) {
    auto json = core::parse_ordered_json(answer.body);
    return json.is_discarded() ? Json::object() : json;
}

int print_answer(const core::Result<client::ApiAnswer>& answer) {
    if (!answer || !answer->good()) return refused(answer);
    if (!answer->body.empty()) app::print_line(core::json_text(parsed(*answer), 2));
    return 0;
}

int refused(const core::Result<client::ApiAnswer>& answer) {
    if (!answer) {
        app::print_error("beckon: " + app::with_remedy(answer.error()));
        return app::kFailed;
    }
    const auto problem = parsed(*answer);
    const auto detail = core::text_member(problem, "detail");
    app::print_error("beckon: " + std::to_string(answer->status) + " " +
                     core::text_member(problem, "title") + (detail.empty() ? "" : ": " + detail));
    return app::kFailed;
}

void add_api_access(CLI::App& command, ApiAccess& access) {
    command.add_option("--url", access.url, "Origin of the API; by default that of retry.port");
    command.add_option(
        "--token", access.token,
        "Token of the owner (`beckon webhooks token`); by default one is made with the key ring");
    command.add_option("--owner", access.owner, "Owner for whom that token is made")
        ->capture_default_str();
    command.add_option("--api-ca-file", access.ca_file, "PEM file of certificates to trust");
    command.add_flag("--insecure", access.insecure, "Accept any TLS certificate of the API");
}

void add_all_owners(CLI::App& command, ApiAccess& access, const char* help) {
    command.add_flag("--all-owners", access.all_owners, help)
        ->excludes("--token")
        ->excludes("--owner");
}

CLI::App& add_api_command(app::CommandLine& line, CLI::App& parent, CommandText text,
                          ApiAccess& access, const std::function<int(client::ApiClient&)>& run) {
    auto& command = line.add(parent, text.name, text.help, app::Reader::webhooks,
                             [&access, run](const auto& config) {
                                 client::ApiClient api{api_options(config, access)};
                                 return run(api);
                             });
    add_api_access(command, access);
    return command;
}

namespace {

core::KeyRing key_ring_of(const app::Config& config) {
    auto keys = config.load_key_ring();
    if (keys) return std::move(*keys);
    throw app::StartupError(
        "there is no --token, and no key ring to make one with: " + keys.error().message +
        " (--data or --key-ring names the one of the installation)");
}

}  // namespace

client::ApiClient::Options api_options(const app::Config& config, const ApiAccess& access) {
    client::ApiClient::Options options{
        .origin = access.url, .token = access.token, .ca_file = access.ca_file};
    options.insecure = access.insecure;
    if (options.origin.empty()) {
        options.origin = "http://" + core::local_authority(config.retry.host, config.retry.port);
    }
    if (options.origin.ends_with('/')) options.origin.pop_back();
    if (!options.token.empty()) return options;
    // For one call to a process that may have started before the ring was rotated.
    const auto caller =
        access.all_owners
            ? retry::operator_caller()
            : retry::Caller{.owner = access.owner, .publishes_to_all = access.publishes_to_all};
    options.token = app::must(retry::make_token(key_ring_of(config).keys().front(), caller));
    return options;
}

std::string token_of(const app::Config& config, const std::string& owner, bool publishes_to_all) {
    return app::must(retry::make_token(key_ring_of(config),
                                       {.owner = owner, .publishes_to_all = publishes_to_all}));
}

}  // namespace beckon::tools
