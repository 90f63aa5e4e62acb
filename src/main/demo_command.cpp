#include "app/client_options.hpp"
#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/config/config.hpp"
#include "app/roles/roles.hpp"
#include "client/url.hpp"
#include "core/authority.hpp"
#include "core/logger.hpp"
#include "fetch/transfer.hpp"
#include "main/commands.hpp"
#include "tools/api/api_command.hpp"
#include "tools/demo/demo.hpp"

#include <cstring>

#include <CLI/CLI.hpp>
#include <unistd.h>

namespace beckon {

using app::Config;

namespace {

class TemporaryDirectory {
public:
    TemporaryDirectory() {
        auto name = (std::filesystem::temp_directory_path() / "beckon-demo-XXXXXX").string();
        if (!::mkdtemp(name.data())) {
            throw app::StartupError("cannot make a temporary directory: " +
                                    std::string{std::strerror(errno)});
        }
        path_ = name;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

bool something_listens(const client::Url& url) {
    const auto curl = fetch::make_easy();
    fetch::Transfer transfer{
        curl.get(),
        {.url = "http://" + core::with_brackets(url.host) + ":" + std::to_string(url.port),
         .timeout = std::chrono::seconds{10}}};
    curl_easy_setopt(curl.get(), CURLOPT_CONNECT_ONLY, 1L);
    return transfer.perform().has_value();
}

int webhook_demo_at(const Config& config, const std::string& origin,
                    const tools::DemoOptions& options) {
    return tools::run_webhook_demo(
        tools::api_options(config, {.url = origin,
                                    .ca_file = options.ca_file.value_or("").string(),
                                    .insecure = options.insecure}),
        options);
}

int demo_at(const app::Addresses& addresses, tools::DemoOptions options) {
    options.insecure = addresses.self_signed;
    options.url = addresses.websocket;
    if (!options.webhooks) return tools::run_demo(options);
    Config config;
    config.data = addresses.data;
    return webhook_demo_at(config, addresses.webhooks, options);
}

int run_with_own_server(const tools::DemoOptions& options, const std::string& where) {
    const TemporaryDirectory directory;
    Config config = app::defaults_of(app::Reader::standalone);
    config.data = directory.path();
    config.endpoint.port = config.edge.port = config.retry.port = config.ops.port = 0;
    config.console.port = 0;
    config.retry.allowed_addresses = {"127.0.0.1"};  // the demo's receiver
    config.layout.tiers = {std::chrono::seconds{0}, std::chrono::seconds{1}};
    core::configure_logging(core::LogLevel::error, core::LogFormat::text);
    if (!options.json) {
        app::print_line("Nothing listens at " + where +
                        ": starting a Beckon for this demo alone, in " + directory.path().string() +
                        ".");
    }
    return app::run_standalone(std::move(config), {.once_ready = [&options](const auto& addresses) {
                                   return demo_at(addresses, options);
                               }});
}

/// Without a URL: against the server at the default address or, if nothing listens there, against
/// one of its own, which keeps its data in a temporary directory and ends with the demo.
int run_demo_anywhere(const tools::DemoOptions& options) {
    const auto url = client::parse_url(options.url);
    if (!url || something_listens(*url)) return tools::run_demo(options);
    return run_with_own_server(options, options.url);
}

/// The same with the API for webhooks that the configuration names; its key ring makes the token.
int run_webhook_demo_anywhere(const Config& config, const tools::DemoOptions& options) {
    const auto origin = "http://" + core::local_authority(config.retry.host, config.retry.port);
    const auto url = client::parse_url(origin);
    if (url && !something_listens(*url)) return run_with_own_server(options, origin);
    return webhook_demo_at(config, origin, options);
}

}  // namespace

void add_demo_command(app::CommandLine& line) {
    static tools::DemoOptions o;  // CLI11 keeps references to the values that it fills
    static const CLI::Option* url = nullptr;
    auto& command =
        line.add(line.top(), "demo", "Send one push through a server, and show each step",
                 app::Reader::webhooks, [](const auto& config) {
                     if (o.webhooks) return run_webhook_demo_anywhere(config, o);
                     return url->count() ? tools::run_demo(o) : run_demo_anywhere(o);
                 });
    url = command
              .add_option("URL", o.url,
                          "WebSocket URL of an edge, ws or wss; without it, a server is started "
                          "for the demo if none is at the default address")
              ->capture_default_str();
    app::add_trust(command, o.insecure, o.ca_file);
    command.add_flag("--webhooks", o.webhooks,
                     "Send an event to a webhook instead, through the API for webhooks");
    command.add_option("--text", o.text, "Text of the message")->capture_default_str();
    command.add_flag_function(
        "--no-vapid", [](std::int64_t) { o.vapid = false; },
        "Do not sign, and do not bind the subscription to a key");
    app::add_duration(command, "--timeout", "Time limit of each step (e.g. 15s)",
                      [](auto value) { o.timeout = value; });
    command.add_flag("--json", o.json, "One JSON object at the end");
}

}  // namespace beckon
