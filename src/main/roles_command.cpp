#include "app/client_options.hpp"
#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/roles/roles.hpp"
#include "main/commands.hpp"
#include "tools/commands.hpp"
#include "tools/demo/demo.hpp"

#include <chrono>
#include <iostream>
#include <optional>
#include <sstream>

#include <CLI/CLI.hpp>

namespace beckon {

using app::CommandLine;
using app::Config;
using app::Reader;

namespace {

/// The addresses, and commands to try next.
std::string what_to_try(const app::Addresses& at) {
    const std::string insecure = at.self_signed ? " --insecure" : "";
    const auto beckon = app::own_command();
    std::ostringstream out;
    out << "\nBeckon is running.\n"
           "  application servers POST to   "
        << at.endpoint << "/wpush/…\n  clients connect to            " << at.websocket
        << "\n  events and webhooks           " << at.webhooks
        << "\n  health and metrics            " << at.ops << "/ready  " << at.ops
        << "/metrics\n  console                       " << at.console
        << "/\n  everything is kept in         " << at.data.string()
        << "\n\nTry next, in another terminal:\n  " << beckon << " listen " << at.websocket
        << insecure << " --state me.json\n  " << beckon << " push me.json \"Hello\"" << insecure
        << "\nFirefox: about:config, dom.push.serverURL = " << at.websocket
        << "\n         and dom.push.testing.allowInsecureServerURL = true (README.md has the "
           "rest).\n"
           "Ctrl-C stops it.\n";
    return out.str();
}

/// `--demo`: one push travels, as `beckon demo` shows it.
std::optional<int> show_first_push(const app::Addresses& addresses) {
    tools::run_demo({.url = addresses.websocket, .insecure = addresses.self_signed});
    std::cout << what_to_try(addresses) << std::flush;
    return std::nullopt;
}

/// `--max-runtime` is for schedulers; it stands above `retry.max_runtime`.
void add_retry(CommandLine& line) {
    static std::optional<std::chrono::seconds> max_runtime;
    auto& command =
        line.add(line.top(), "retry",
                 "Run the role that accepts events and delivers them to webhooks, on Kafka",
                 Reader::retry, [](Config config) {
                     config.retry.max_runtime = max_runtime.value_or(config.retry.max_runtime);
                     return app::run_retry(std::move(config));
                 });
    app::add_duration(
        command, "--max-runtime",
        "End with exit code 0 after this, e.g. 5min, for schedulers; no attempt starts "
        "whose time-out could end later",
        [](auto value) {
            if (value < std::chrono::seconds{1}) {
                throw CLI::ValidationError("--max-runtime", "must be at least 1s");
            }
            max_runtime = std::chrono::floor<std::chrono::seconds>(value);
        });
}

}  // namespace

void add_roles_commands(CommandLine& line) {
    static app::StandaloneOptions standalone;
    auto& command =
        line.add(line.top(), "standalone", "Run everything in one process on the embedded log",
                 Reader::standalone,
                 [](const auto& config) { return app::run_standalone(config, standalone); });
    command.add_flag_callback(
        "--demo", [] { standalone.once_ready = show_first_push; },
        "Once ready, send a push through the server, and show commands to try");
    command.add_flag(
        "--new-log", standalone.new_log,
        "Start with an existing key ring and a new log. Without this flag the start fails: if the "
        "log's volume were missing, every sender would get 410 and forget its subscription");
    line.add(line.top(), "endpoint", "Run the HTTP API for application servers, on Kafka",
             Reader::endpoint, app::run_endpoint);
    line.add(line.top(), "edge", "Run the WebSocket port for clients, on Kafka", Reader::edge,
             app::run_edge);
    add_retry(line);
    auto& reliability =
        line.add(line.top(), "reliability",
                 "Run the role that counts tracked messages and keeps their histories, on Kafka",
                 Reader::reliability, app::run_reliability);
    tools::add_reliability_commands(line, reliability);
    line.add(line.top(), "console", "Run the operators' pages: lag, delay tiers, cluster, on Kafka",
             Reader::console, app::run_console);
}

}  // namespace beckon
