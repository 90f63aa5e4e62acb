#include "tools/message/message_tool.hpp"

#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/config/config.hpp"
#include "app/exit_codes.hpp"
#include "app/installation/key_ring_guard.hpp"
#include "app/process/process.hpp"
#include "console/cluster/cluster_json.hpp"
#include "core/clock.hpp"
#include "core/json_text.hpp"
#include "core/log_names.hpp"
#include "core/milestone.hpp"
#include "core/percent.hpp"
#include "core/time_text.hpp"
#include "core/tokens.hpp"
#include "inspect/trace/named.hpp"
#include "inspect/trace/trace_words.hpp"
#include "tools/commands.hpp"
#include "tools/running/tool_log.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

std::string route_to_client(const EdgePage& edge) {
    const auto& page = edge.page;
    if (!page.is_object()) return "not known: " + edge.why_not;
    if (page.value("answered", false)) {
        return "yes, and it was answered: its end is on the way to the log";
    }
    if (page.contains("sent") && page["sent"].is_number_integer()) {
        return core::time_text(time_in(page, "sent")) +
               (page.value("on_earlier_connection", false)
                    ? ", on an earlier connection of the client, which ended without an answer"
                    : ", and the client has not answered yet");
    }
    return std::string{"not since this edge became the client's home: the client is "} +
           (page.value("connected", false) ? "connected, and has not answered earlier ones"
                                           : "not connected");
}

std::string line(std::string name, const std::string& value) {
    constexpr std::size_t kColumn = 10;
    name.resize(std::max(name.size() + 1, kColumn), ' ');
    return name + value + "\n";
}

const inspect::TraceStep* step(const inspect::MessageTrace& trace, std::string_view what) {
    for (const auto& one : trace.steps) {
        if (one.what == what) return &one;
    }
    return nullptr;
}

const std::string kEndpointWords =
    "That is an endpoint URL. Its client and the client's waiting messages: beckon subscriptions "
    "show URL\n";
constexpr const char* kClientWords =
    "That is a UAID. The client and its waiting messages: beckon subscriptions show UAID\n";

app::StartupError not_ours(const std::string& id) {
    if (id.find("/wpush/") != std::string::npos) {
        return app::StartupError("not an endpoint URL of this installation: " + id);
    }
    return app::StartupError(
        "not a message of this installation, and not a reliability id either: " + id);
}

/// The names of a message or client in log lines.
std::string names_text(const inspect::Named& named) {
    const auto client = "client=" + core::log_name(named.client);
    if (named.message) return "message=" + core::log_name(*named.message) + " " + client + "\n";
    if (named.channel) return client + " channel=" + core::to_dashed(*named.channel) + "\n";
    return client + "\n";
}

/// The answer of an edge about a message that waits.
std::optional<EdgePage> edge_answer(ToolLog& log, const app::Config& config,
                                    const inspect::MessageTrace& trace) {
    if (trace.outcome != inspect::TraceOutcome::waiting || trace.homeless) return std::nullopt;
    const auto& [client, key] = trace.message;
    return ask_home(log, config,
                    "/delivery/now?uaid=" + core::to_hex(client) + "&message=" + core::to_hex(key));
}

/// Of a tracked message the log has the time at which it was sent.
std::string sent_line(const inspect::MessageTrace& trace, const std::optional<EdgePage>& edge) {
    if (edge) return line("sent", route_to_client(*edge));
    const auto* sent = step(trace, to_string(core::Milestone::transmitted));
    return sent ? line("sent", core::time_text(sent->at)) : "";
}

}  // namespace

std::string message_text(const inspect::MessageTrace& trace, const std::optional<EdgePage>& edge) {
    auto text = trace.verdict + "\n";
    if (const auto* accepted = step(trace, "accepted")) {
        text += line("accepted", core::time_text(accepted->at));
    }
    text += sent_line(trace, edge);
    if (const auto* finished = step(trace, "finished")) {
        text += line("finished", core::time_text(finished->at));
    }
    if (trace.reliability_id) text += line("tracked", *trace.reliability_id);
    return text;
}

int run_message(const app::Config& config, const MessageOptions& asked, std::ostream& out) {
    core::Tokens tokens{app::load_key_ring(config)};
    const auto now = core::SystemClock{}.wall();
    if (const auto named = inspect::open_name(tokens, asked.id, now); named || asked.names) {
        if (!named) throw not_ours(asked.id);
        if (asked.names || named->kind == inspect::NameKind::endpoint) {
            if (asked.names || !asked.json) out << names_text(*named);
            if (asked.names) return app::kDone;
            ToolLog log{config};
            const auto refused = refused_posts(log, config, asked.id);
            out << (asked.json ? core::json_text(console::refused_json(refused)) + "\n"
                               : kEndpointWords + console::to_text(refused));
            return app::kDone;
        }
    } else if (asked.id.find("/wpush/") != std::string::npos ||
               !core::is_reliability_id(asked.id)) {
        throw not_ours(asked.id);
    }
    ToolLog log{config};
    std::optional<Ownership> ownership;
    const inspect::TraceOptions options{
        .partitions = log.control().partitions, .now = now, .homeless = [&](core::Partition p) {
            ownership.emplace(log);
            return ownership->read(kLogReadTimeout) && ownership->view().reader_of("edge", p).dead;
        }};
    const auto found = app::must(inspect::find_name(tokens, log.log(), asked.id, options));
    if (!found) {
        app::print_error("beckon: '" + asked.id +
                         "' is no Location that this installation gave a message, nor its last "
                         "part; and the log has no message with it as its reliability id");
        return app::kNothingFound;
    }
    const auto& named = *found;
    if (named.nobody) {
        app::print_error("beckon: no client has the UAID '" + asked.id +
                         "', and the log has no message that log lines and pages name so");
        return app::kNothingFound;
    }
    if (!asked.json) {
        out << names_text(named);
        out.flush();  // shown before the log is read, which may take long
    }
    if (!named.message) {
        out << kClientWords;
        return app::kDone;
    }
    const auto trace =
        app::must(inspect::trace_message(log.log(), {named.client, *named.message}, options));
    if (asked.json) {
        out << core::json_text(inspect::trace_json(trace)) << "\n";
    } else {
        out << message_text(trace, edge_answer(log, config, trace)) << inspect::steps_text(trace);
    }
    return trace.outcome == inspect::TraceOutcome::unknown ? app::kNothingFound : app::kDone;
}

void add_message_command(app::CommandLine& line) {
    static MessageOptions asked;
    auto& command =
        line.add(line.top(), "message", "Show how a message stands, and its life step by step",
                 app::Reader::log, [](app::Config config) {
                     if (config.on_kafka() && !config.sources.contains("ops.port")) {
                         config.ops.port = app::defaults_of(app::Reader::edge).ops.port;
                     }
                     std::ostringstream out;
                     const int code = run_message(config, asked, out);
                     app::print_text(out.str());
                     return code;
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
