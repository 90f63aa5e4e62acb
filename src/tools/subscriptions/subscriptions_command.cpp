#include "app/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/subscriptions/autopush_dump.hpp"
#include "tools/subscriptions/subscriptions_tool.hpp"

#include <iostream>

#include <CLI/CLI.hpp>

namespace beckon::tools {

void add_subscriptions_command(app::CommandLine& line) {
    static ImportOptions import;
    auto& group = line.add_group("subscriptions", "The log's clients and channels");
    auto& importing = line.add(
        group, "import", "Import the clients of another installation", app::Reader::subscriptions,
        [](const auto& config) { return subscriptions_import(config, import); });
    importing.add_option("FILE", import.file, "JSON lines, one client each; - for standard input")
        ->required();
    importing.add_flag("--dry-run", import.dry_run,
                       "Only compare the file with the log, and say what an import would do");
    importing.add_flag("--seen-now", import.seen_now,
                       "Import clients that were not seen for edge.client_ttl too, as seen now");

    static std::string form;
    static std::string dump;
    auto& converting = line.add(group, "convert", "Print a dump of autopush as lines for an import",
                                [] { return subscriptions_convert(form, dump); });
    converting.add_option("FORM", form, "redis or bigtable")
        ->required()
        ->check(CLI::IsMember({"redis", "bigtable"}));
    converting.add_option("FILE", dump, "The dump; - for standard input")->required();

    static std::string whom;
    static bool json = false;
    auto& show = line.add(
        group, "show", "Show a client: its channels and its waiting messages", app::Reader::log,
        [](const auto& config) { return subscriptions_show(config, whom, json); });
    show.add_option("CLIENT", whom, "A UAID, or an endpoint URL of the client")->required();
    show.add_flag("--json", json, "One JSON object in a line");

    static bool yes = false;
    auto& remove = line.add(
        group, "remove", "Remove a client with its channels and its messages: erase a person",
        app::Reader::log,
        [](const auto& config) { return subscriptions_remove(config, whom, yes); });
    remove.add_option("CLIENT", whom, "A UAID, or an endpoint URL of the client")->required();
    remove.add_flag("--yes", yes, "Do it; without it only show what the log has of the client");

    static ExportOptions exported;
    line.add(group, "export",
             "Print every client as a line that import reads; the lines let their "
             "reader act for the clients",
             app::Reader::log,
             [](const auto& config) { return subscriptions_export(config, exported, std::cout); })
        .add_flag("--messages", exported.messages,
                  "With the messages that wait for each client, which import passes over");
}

}  // namespace beckon::tools
