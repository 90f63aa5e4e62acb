#include "cli/dead/dead_command.hpp"

#include "cli/api/api_command.hpp"
#include "cli/command_line.hpp"
#include "cli/dead/dead_tool.hpp"
#include "cli/dead/replay_redrive.hpp"

#include <string>

#include <CLI/CLI.hpp>

namespace beckon::cli {

namespace {

/// What the commands fill; lives as long as the process, since CLI11 keeps references.
struct DeadOptions {
    ApiAccess access;
    DeadWanted wanted;
    SettleDead settle;
    std::string id;
};

void add_filter(CLI::App& command, DeadWanted& wanted) {
    command.add_option("--webhook", wanted.webhook, "Only of this webhook");
    command.add_option("--type", wanted.type,
                       "Only events of this type, or order.* for all that begin so");
    command.add_option("--reason", wanted.reason,
                       "Only what was given up for it: refused, timed_out, gone, …");
    command.add_option("--since", wanted.since, "Only what died then or later, e.g. 2026-11-20");
    command.add_option("--before", wanted.before, "Only what died before");
}

void add_pace(CLI::App& command, SettleDead& settle) {
    command.add_flag("--yes", settle.yes, "Do it; without it only a count is shown");
    command.add_option("--rate", settle.rate, "At most so many a second")
        ->check(CLI::Range(1, 1'000))
        ->capture_default_str();
    command.add_option("--limit", settle.limit, "At most so many; 0: all");
}

void add_settling(CommandLine& line, CLI::App& group, const char* name, const char* help,
                  DeadOptions& o) {
    auto& command = add_api_command(
        line, group, {name, help}, o.access,
        [&o, name](ApiClient& api) { return settle_dead(api, name, o.wanted, o.settle); });
    command.add_option("ID", o.wanted.ids, "Of deliveries; without it what the filters say");
    add_filter(command, o.wanted);
    add_pace(command, o.settle);
}

DeadOptions& options() {
    static DeadOptions all;
    return all;
}

}  // namespace

void add_dead_commands(CommandLine& line) {
    auto& o = options();
    auto& group = line.add_group("dead", "Deliveries to webhooks that were given up");
    auto& list =
        add_api_command(line, group, {"list", "One line for each, the oldest first"}, o.access,
                        [&o](ApiClient& api) { return list_dead(api, o.wanted); });
    add_filter(list, o.wanted);
    list.add_option("--limit", o.wanted.limit, "At most so many; 0: all");
    list.add_flag("--json", o.wanted.json, "A JSON object in each line");
    add_api_command(line, group, {"show", "One with its event and history"}, o.access,
                    [&o](ApiClient& api) { return show_dead(api, o.id); })
        .add_option("ID", o.id, "Of the delivery")
        ->required();
    add_settling(line, group, "redrive", "Send them on their way again, under their old ids", o);
    add_settling(line, group, "drop", "Forget them for good", o);
}

void add_replay_redrive(CommandLine& line, CLI::App& group) {
    add_settling(line, group, "redrive", "Send dead letters on their way again: `dead redrive`",
                 options());
}

void add_webhook_redrive(CommandLine& line, CLI::App& group) {
    auto& o = options();
    auto& command = add_api_command(
        line, group, {"redrive", "Send what was given up of it on its way again"}, o.access,
        [&o](ApiClient& api) { return settle_dead(api, "redrive", o.wanted, o.settle); });
    command.add_option("ID", o.wanted.webhook, "Of the webhook")->required();
    add_pace(command, o.settle);
}

}  // namespace beckon::cli
