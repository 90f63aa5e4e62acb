#include "tools/trace/trace_command.hpp"

#include "app/command_line.hpp"
#include "app/exit_codes.hpp"
#include "app/process/key_ring_guard.hpp"
#include "app/process/output.hpp"
#include "core/milestone.hpp"
#include "inspect/trace/message_trace.hpp"
#include "inspect/trace/trace_words.hpp"
#include "tools/running/tool_log.hpp"

#include <iostream>

#include <CLI/CLI.hpp>

namespace beckon::tools {

namespace {

struct TraceFlags {
    std::string id;
    bool json = false;
};

/// The message that a Location, a message id or a reliability id names; nullopt: the log has none
/// with that reliability id.
std::optional<core::MessageRef> find(const app::Config& config, const std::string& id,
                                     log::EventLog& log, const inspect::TraceOptions& options) {
    core::Tokens tokens{app::load_key_ring(config)};
    if (id.find("/wpush/") != std::string::npos) {
        throw app::StartupError(
            "that is an endpoint URL: it names a channel, not a message. The log's records of its "
            "client: beckon replay show --endpoint URL");
    }
    if (const auto message = tokens.open_message(id.substr(id.rfind('/') + 1))) return *message;
    if (!core::is_reliability_id(id)) {
        throw app::StartupError(
            "not a message of this installation, and not a reliability id either: " + id);
    }
    const auto found = inspect::find_tracked(log, id, options);
    if (!found) throw app::StartupError(found.error().message);
    return *found;
}

int run_trace(app::Config config, const TraceFlags& asked) {
    ToolLog log{config};
    const inspect::TraceOptions options{.partitions = log.control().partitions,
                                        .now = core::SystemClock{}.wall()};
    const auto message = find(config, asked.id, log.log(), options);
    if (!message) {
        app::print_error(
            "beckon: '" + asked.id +
            "' is no Location that this installation gave a message, nor its last part; "
            "and the log has no message with it as its reliability id");
        return app::kNothingFound;
    }
    const auto trace = inspect::trace_message(log.log(), *message, options);
    if (!trace) throw app::StartupError(trace.error().message);
    std::cout << (asked.json ? inspect::trace_json(*trace) + "\n" : inspect::trace_text(*trace));
    return trace->outcome == inspect::TraceOutcome::unknown ? app::kNothingFound : app::kDone;
}

}  // namespace

void add_trace_command(app::CommandLine& line) {
    static TraceFlags asked;
    auto& command =
        line.add_configured(line.top(), "trace", "Show the life of one message, step by step",
                            app::Reader::log, [](app::Config config, const app::Sources&) {
                                return run_trace(std::move(config), asked);
                            });
    command
        .add_option("ID", asked.id,
                    "The Location of a 201, its last part, or the message's reliability id")
        ->required();
    command.add_flag("--json", asked.json, "One JSON object in a line");
}

}  // namespace beckon::tools
