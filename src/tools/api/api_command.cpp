#include "tools/api/api_command.hpp"

#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/exit_codes.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"

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
    auto& command =
        line.add_configured(parent, text.name, text.help, app::Reader::webhooks,
                            [&access, run](const app::Config& config, const app::Sources&) {
                                return run(*open_api(config, access));
                            });
    add_api_access(command, access);
    return command;
}

}  // namespace beckon::tools
