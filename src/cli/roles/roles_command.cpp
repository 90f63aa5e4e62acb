#include "cli/roles/roles_command.hpp"

#include "cli/command_line.hpp"
#include "cli/reliability/reliability_command.hpp"
#include "cli/roles/roles.hpp"

#include <CLI/CLI.hpp>

namespace beckon::cli {

void add_roles_commands(CommandLine& line) {
    static StandaloneOptions standalone;
    auto& command = line.add_configured(
        line.top(), "standalone", "Run everything in one process on the embedded log",
        Reader::standalone, [](Config config, const Sources&) {
            return run_standalone(std::move(config), Signals{}, standalone);
        });
    command.add_flag("--demo", standalone.demo,
                     "Once ready, show one push travelling and what to try next");
    command.add_flag("--new-log", standalone.new_log,
                     "Start with a key ring that exists and a log that does not: without this, a "
                     "missing volume would tell every sender to forget its subscription");
    line.add_configured(
        line.top(), "endpoint", "Run the HTTP API for application servers, on Kafka",
        Reader::endpoint,
        [](Config config, const Sources&) { return run_endpoint(std::move(config), Signals{}); });
    line.add_configured(
        line.top(), "edge", "Run the WebSocket port for clients, on Kafka", Reader::edge,
        [](Config config, const Sources&) { return run_edge(std::move(config), Signals{}); });
    line.add_configured(
        line.top(), "retry", "Run webhooks: the API for events, and their delivery, on Kafka",
        Reader::retry,
        [](Config config, const Sources&) { return run_retry(std::move(config), Signals{}); });
    auto& reliability = line.add_configured(
        line.top(), "reliability", "Run counts and histories of tracked messages, on Kafka",
        Reader::reliability, [](Config config, const Sources&) {
            return run_reliability(std::move(config), Signals{});
        });
    add_reliability_commands(line, reliability);
    line.add_configured(
        line.top(), "console", "Run the operators' pages: lag, delay tiers, cluster, on Kafka",
        Reader::console,
        [](Config config, const Sources&) { return run_console(std::move(config), Signals{}); });
}

}  // namespace beckon::cli
