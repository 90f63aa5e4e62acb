#include "tools/lookup/lookup_command.hpp"

#include "app/command_line.hpp"
#include "app/config/config.hpp"
#include "app/exit_codes.hpp"
#include "tools/lookup/lookup_tool.hpp"

#include <iostream>

#include <CLI/CLI.hpp>

namespace beckon::tools {

namespace {

int run(app::Config config, const app::Sources& sources, const std::string& id, bool only_names) {
    if (only_names) {
        print_names(config, id, std::cout);
        return app::kDone;
    }
    const bool on_kafka = !config.kafka.bootstrap_servers.empty();
    if (on_kafka && !sources.contains("ops.port")) {
        config.ops.port = app::defaults_of(app::Reader::edge).ops.port;
    }
    return look_up(std::move(config), id, std::cout);
}

}  // namespace

void add_lookup_commands(app::CommandLine& line) {
    static std::string id;
    static bool only_names = false;
    auto& command =
        line.add_configured(line.top(), "message",
                            "Show the present state of a message, and the names that "
                            "log lines have for it and its client",
                            app::Reader::log, [](app::Config config, const app::Sources& sources) {
                                return run(std::move(config), sources, id, only_names);
                            });
    command
        .add_option("ID", id,
                    "The Location of a 201, its last part (`version`), or an endpoint URL")
        ->required();
    command.add_flag("--names", only_names, "Only the names in log lines; queries no process");
}

}  // namespace beckon::tools
