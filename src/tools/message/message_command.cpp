#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/config/config.hpp"
#include "tools/commands.hpp"
#include "tools/message/message_tool.hpp"

#include <sstream>

#include <CLI/CLI.hpp>

namespace beckon::tools {

namespace {

int run(app::Config config, const app::Sources& sources, const MessageOptions& asked) {
    const bool on_kafka = config.on_kafka();
    if (on_kafka && !sources.contains("ops.port")) {
        config.ops.port = app::defaults_of(app::Reader::edge).ops.port;
    }
    std::ostringstream out;
    const int code = run_message(std::move(config), asked, out);
    app::print_text(out.str());
    return code;
}

}  // namespace

void add_message_command(app::CommandLine& line) {
    static MessageOptions asked;
    auto& command = line.add_configured(
        line.top(), "message", "Show how a message stands, and its life step by step",
        app::Reader::log, [](app::Config config, const app::Sources& sources) {
            return run(std::move(config), sources, asked);
        });
    command.alias("trace");
    command
        .add_option(
            "ID", asked.id,
            "The Location of a 201, its last part (`version`), the name that log lines have "
            "for the message (`message`), its reliability id, or an endpoint URL")
        ->required();
    command.add_flag("--names", asked.names, "Only the names in log lines; queries no process");
    command.add_flag("--json", asked.json, "One JSON object in a line");
}

}  // namespace beckon::tools
