#include "app/command_line.hpp"
#include "tools/api/api_command.hpp"
#include "tools/commands.hpp"
#include "tools/dead/dead_tool.hpp"

#include <string>

#include <CLI/CLI.hpp>

namespace beckon::tools {

namespace {

/// The options' values; they live as long as the process, since CLI11 keeps references.
struct DeadOptions {
    ApiAccess access;
    DeadWanted wanted;
    SettleDead settle;
    std::string id;
};

void add_filter(CLI::App& command, DeadWanted& wanted) {
    command.add_option("--webhook", wanted.webhook, "Only of this webhook");
    command.add_option("--type", wanted.type, "Only events of this type; order.* is a prefix");
    command.add_option("--reason", wanted.reason,
                       "Only letters with this reason: refused, timed_out, gone, …");
    command.add_option("--since", wanted.since,
                       "Only letters of this time or later: 2026-11-20, yesterday 15:00, -2h");
    command.add_option("--before", wanted.before, "Only letters of an earlier time");
}

void add_pace(CLI::App& command, SettleDead& settle) {
    command.add_flag("--yes", settle.yes, "Change the log; without it the command only counts");
    command.add_option("--rate", settle.rate, "Letters a second, at most")
        ->check(CLI::Range(1, 1'000))
        ->capture_default_str();
    command.add_option("--limit", settle.limit, "At most so many; 0: all");
}

void add_settling(app::CommandLine& line, CLI::App& group, const char* name, const char* help,
                  DeadOptions& o) {
    auto& command = add_api_command(
        line, group, {name, help}, o.access,
        [&o, name](client::ApiClient& api) { return settle_dead(api, name, o.wanted, o.settle); });
    command.add_option("ID", o.wanted.ids, "Ids of deliveries; without them the filters choose");
    add_filter(command, o.wanted);
    add_pace(command, o.settle);
}

DeadOptions& options() {
    static DeadOptions all;
    return all;
}

}  // namespace

void add_dead_commands(app::CommandLine& line) {
    auto& o = options();
    auto& group = line.add_group("dead", "Deliveries to webhooks that were given up");
    auto& list = add_api_command(
        line, group, {"list", "Show one line for each dead letter, the oldest first"}, o.access,
        [&o](client::ApiClient& api) { return list_dead(api, o.wanted); });
    add_filter(list, o.wanted);
    list.add_option("--limit", o.wanted.limit, "At most so many; 0: all");
    list.add_flag("--json", o.wanted.json, "Print a JSON object in each line");
    add_api_command(line, group, {"show", "Show a dead letter with its event and history"},
                    o.access, [&o](client::ApiClient& api) { return show_dead(api, o.id); })
        .add_option("ID", o.id, "Of the delivery")
        ->required();
    add_settling(line, group, "redrive", "Deliver dead letters again, under their old ids", o);
    add_settling(line, group, "drop", "Drop dead letters for good", o);
}

void add_replay_redrive(app::CommandLine& line, CLI::App& group) {
    add_settling(line, group, "redrive", "Deliver dead letters again, like `dead redrive`",
                 options());
}

void add_webhook_redrive(app::CommandLine& line, CLI::App& group) {
    auto& o = options();
    auto& command = add_api_command(
        line, group, {"redrive", "Deliver its dead letters again"}, o.access,
        [&o](client::ApiClient& api) { return settle_dead(api, "redrive", o.wanted, o.settle); });
    command.add_option("ID", o.wanted.webhook, "Of the webhook")->required();
    add_pace(command, o.settle);
}

}  // namespace beckon::tools
