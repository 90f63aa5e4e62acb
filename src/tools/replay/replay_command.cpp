#include "app/client_options.hpp"
#include "app/command/moment.hpp"
#include "app/command/output.hpp"
#include "app/command/progress.hpp"
#include "app/command_line.hpp"
#include "app/exit_codes.hpp"
#include "app/installation/key_ring_guard.hpp"
#include "app/process/process.hpp"
#include "core/json_text.hpp"
#include "core/tokens.hpp"
#include "inspect/log/log_service.hpp"
#include "inspect/store/client_state.hpp"
#include "inspect/store/store_service.hpp"
#include "tools/commands.hpp"
#include "tools/replay/replay_tool.hpp"
#include "tools/replay/verify.hpp"
#include "tools/running/ops_client.hpp"
#include "tools/running/tool_log.hpp"
#include "tools/subscriptions/subscriptions_tool.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

constexpr std::chrono::milliseconds kReplayTimeout{10'000};

/// From the options.
struct ReplayFlags {
    std::string topic;  ///< empty: those of clients that the other options mean
    int partition = -1;
    std::int64_t from = 0;
    std::int64_t until = -1;
    std::string since;
    std::string to;
    std::string endpoint;
    std::string uaid;
    std::string channel;
    std::string message;
    std::string key;
    bool values = false;
    bool json = false;
    bool count = false;
    std::uint64_t limit = 0;
    std::uint64_t rate = 0;
    std::string at = "-0s";
};

[[noreturn]] void refuse(const std::string& why) {
    throw app::StartupError(why, app::kWrongOptions);
}

template <class Id>
Id id_of(const std::string& option, const std::string& text) {
    const auto bytes = core::parse_uuid(text);
    if (!bytes) refuse(option + ": '" + text + "' is no UUID");
    return Id{*bytes};
}

/// An endpoint URL names a client and its channel.
void apply_endpoint(const app::Config& config, const std::string& url, Selection& selection) {
    core::Tokens tokens{app::load_key_ring(config)};
    const auto opened = tokens.open_endpoint(url.substr(url.rfind('/') + 1),
                                             core::Tokens::Form::any, core::SystemClock{}.wall());
    if (!opened) refuse("--endpoint: not an endpoint URL of this installation");
    selection.client = opened->uaid;
    selection.channel = opened->channel;
}

/// The Location of a 201 names a client and its message; 32 hex digits the message alone.
void apply_message(const app::Config& config, const std::string& text, Selection& selection) {
    if (const auto key = core::parse_hex16(text)) {
        selection.message = core::MessageKey{*key};
        return;
    }
    core::Tokens tokens{app::load_key_ring(config)};
    const auto opened = tokens.open_message(text.substr(text.rfind('/') + 1));
    if (!opened) refuse("--message: not a message of this installation");
    selection.client = opened->uaid;
    selection.message = opened->key;
}

Selection selection_of(const app::Config& config, const ReplayFlags& asked) {
    Selection selection;
    const bool of_client = !(asked.endpoint + asked.uaid + asked.channel).empty();
    if (!asked.topic.empty()) {
        const auto topic = log::Topic::parse(asked.topic);
        if (!topic) refuse("--topic: there is no log topic '" + asked.topic + "'");
        selection.topics = {*topic};
    } else if (of_client && asked.from == 0 && asked.until < 0) {
        selection.topics = {log::Topic::kSubscriptions, log::Topic::kNotifications};
    }
    if (asked.partition >= 0) selection.partition = asked.partition;
    selection.from = asked.from;
    if (asked.until >= 0) selection.until = asked.until;
    if (selection.until <= selection.from) {
        refuse("--until: no offset is below " + std::to_string(asked.until) + " and from --from " +
               std::to_string(asked.from) + " on");
    }
    if (!asked.since.empty()) selection.since = app::moment_of("--since", asked.since);
    if (!asked.to.empty()) selection.to = app::moment_of("--to", asked.to);
    if (selection.since && selection.to && *selection.to <= *selection.since) {
        refuse("--to: it is not after --since, so no record is between them");
    }
    if (!asked.endpoint.empty()) apply_endpoint(config, asked.endpoint, selection);
    if (!asked.uaid.empty()) selection.client = id_of<core::Uaid>("--uaid", asked.uaid);
    if (!asked.channel.empty()) {
        selection.channel = id_of<core::ChannelId>("--channel", asked.channel);
    }
    if (!asked.message.empty()) apply_message(config, asked.message, selection);
    selection.key = asked.key;
    const bool of_clients = selection.topics.front() == log::Topic::kNotifications ||
                            selection.topics.front() == log::Topic::kSubscriptions;
    if (!of_clients && (selection.client || selection.channel || selection.message)) {
        refuse(
            "clients, channels and messages are in the log topics notifications and "
            "subscriptions; choose by --key elsewhere");
    }
    return selection;
}

ReplayOptions replay_options_of(const app::Config& config, const ReplayFlags& asked,
                                core::Partition partitions) {
    ReplayOptions options{.selection = selection_of(config, asked),
                          .partitions = partitions,
                          .json = {.values = asked.values},
                          .rate = asked.rate,
                          .timeout = kReplayTimeout};
    if (asked.limit > 0) options.limit = asked.limit;
    return options;
}

using Replay = core::Result<ReplayCounts> (*)(log::EventLog&, const ReplayOptions&, const LineSink&,
                                              const std::atomic<bool>&);

int run_replay(const app::Config& config, const ReplayFlags& asked, Replay replay) {
    selection_of(config, asked);  // wrong options are refused before a broker is asked
    ToolLog log{config};
    std::atomic<bool> stop = false;
    const app::StopSignals signals{[&stop] { stop = true; }};
    const auto options = replay_options_of(config, asked, log.control().partitions);
    const LineSink quiet = [](std::string_view) { return true; };
    const auto counts = app::must(
        replay(log.log(), options, asked.count ? quiet : LineSink{app::print_text}, stop));
    asked.count ? app::print_line(counts_json(counts)) : app::print_error(counts_json(counts));
    if (signals.exit_code() != 0) return signals.exit_code();
    return counts.shown > 0 ? app::kDone : app::kNothingFound;
}

int run_state(const app::Config& config, const ReplayFlags& asked) {
    const auto selection = selection_of(config, asked);
    if (!selection.client) refuse("no client is named: use --uaid, --endpoint or --message");
    ToolLog log{config};
    const auto state = app::must(
        inspect::state_of_client(log.log(), *selection.client, app::moment_of("--at", asked.at),
                                 log.control().partitions, {.timeout = kReplayTimeout}));
    app::print_text(asked.json
                        ? core::json_text(inspect::state_json(*selection.client, state)) + "\n"
                        : state_text(*selection.client, selection.channel, state));
    return state.client ? app::kDone : app::kNothingFound;
}

/// Lets the process that uses the store make a copy of it.
std::filesystem::path copy_by_process(const app::Config& config) {
    const auto [status, body] =
        ask_ops_port(config.ops, "/store/copy", inspect::log_proof(*app::load_key_ring(config)));
    const std::string port = "the process at the ops port " + std::to_string(config.ops.port);
    if (status != 200 || !body.is_object()) {
        const auto why = body.is_object() ? body.value("error", "") : "";
        throw app::StartupError(why.empty() ? port + " has no edge: see --ops-port" : why);
    }
    std::filesystem::path made = body.value("directory", "");
    std::error_code error;
    if (!std::filesystem::equivalent(made.parent_path(), inspect::store_copies_of(config.data),
                                     error)) {
        throw app::StartupError(port + " keeps its copies in " + made.parent_path().string() +
                                ", not in " + config.data.string() + ": see --ops-port and --data");
    }
    return made;
}

enum class Store : std::uint8_t { at_rest, in_use };

core::Result<std::unique_ptr<inspect::ScratchStore>> copy_of_store(const app::Config& config,
                                                                   Store store,
                                                                   const std::string& log_id) {
    switch (store) {
        case Store::at_rest: return inspect::ScratchStore::copy_of(config.data / "edge", log_id);
        case Store::in_use:
            return inspect::ScratchStore::take_over(copy_by_process(config), log_id);
    }
    return core::fail(core::Fault::invalid, "a store is at rest or in use");
}

std::string verdict(std::size_t verified, std::size_t differ) {
    if (verified == 0) return "the store has nothing of these partitions";
    if (differ == 0) return std::to_string(verified) + " partitions agree with the log";
    return std::to_string(differ) + " of " + std::to_string(verified) +
           " partitions differ from the log";
}

/// Every partition that the edge of the data directory has; all must agree.
int run_verify(const app::Config& config, const ReplayFlags& asked) {
    // Before this tool itself uses the directory, to read a log that is in it.
    const auto store = app::DataDirectory::in_use(config.data) ? Store::in_use : Store::at_rest;
    ToolLog log{config};
    const auto copy = app::must(copy_of_store(config, store, log.control().log_id));
    std::size_t differ = 0;
    std::size_t verified = 0;
    std::vector<core::Partition> partitions;
    for (core::Partition p = 0; p < log.control().partitions; ++p) {
        if (asked.partition < 0 || asked.partition == p) partitions.push_back(p);
    }
    const auto sizes = app::must(log_sizes(log.log(), partitions, kReplayTimeout));
    std::uint64_t total = 0;
    for (const auto& [p, size] : sizes) total += size;
    std::uint64_t before = 0;
    app::Progress progress{"verifying", "records", total};
    const VerifyOptions options{
        .now = core::SystemClock{}.wall(),
        .timeout = kReplayTimeout,
        .progress = [&](std::uint64_t passed) { progress.at(before + passed); }};
    for (const auto p : partitions) {
        const auto found = app::must(verify_partition(log.log(), *copy, p, options));
        if (const auto size = sizes.find(p); size != sizes.end()) before += size->second;
        if (!found) continue;
        ++verified;
        if (!found->agree()) ++differ;
        progress.clear();
        app::print_line(verified_json(*found));
    }
    progress.clear();
    app::print_error(verdict(verified, differ));
    return differ > 0 ? app::kFailed : verified > 0 ? app::kDone : app::kNothingFound;
}

void add_client_options(CLI::App& command, ReplayFlags& asked) {
    app::add_text(command, "--endpoint", asked.endpoint,
                  "Only records of the client and channel of an endpoint URL");
    app::add_text(command, "--uaid", asked.uaid, "Of one client");
    app::add_text(command, "--message", asked.message,
                  "Only records of one message: the Location of a 201, or its key in hex");
}

void add_selection(CLI::App& command, ReplayFlags& asked) {
    app::add_text(command, "--topic", asked.topic,
                  "The log topic; by default notifications, and for --endpoint, --uaid and "
                  "--channel without offsets subscriptions too");
    app::add_number(command, "--partition", asked.partition, "One partition of it", 65'535);
    app::add_number(command, "--from", asked.from, "From this offset on");
    app::add_number(command, "--until", asked.until, "Below this offset");
    app::add_text(command, "--since", asked.since,
                  "Appended at this time or later: 15:00, yesterday 15:00, "
                  "2026-11-22T10:00:00Z, -15m, @MILLISECONDS");
    app::add_text(command, "--to", asked.to, "Appended before this time");
    add_client_options(command, asked);
    app::add_text(command, "--channel", asked.channel, "Of one channel");
    app::add_text(command, "--key", asked.key, "With exactly this key");
    command.add_flag("--values", asked.values, "With values, in base64url");
    app::add_number(command, "--limit", asked.limit, "Show at most so many records");
    app::add_number(command, "--rate", asked.rate, "Read at most so many records a second");
}

}  // namespace

void add_replay_commands(app::CommandLine& line) {
    static ReplayFlags asked;
    auto& group = line.add_group(
        "replay", "Read the log: records, and the state at a moment; and redrive dead letters");
    const auto replay = [&](const char* name, const char* help, Replay run) -> CLI::App& {
        auto& command = line.add(group, name, help, app::Reader::log, [run](const auto& config) {
            return run_replay(config, asked, run);
        });
        add_selection(command, asked);
        return command;
    };
    replay("show", "Show records as lines of JSON; counts go to standard error", show)
        .add_flag("--count", asked.count, "Only the counts, to standard output");
    replay("follow", "Show records as they are appended, until Ctrl-C", follow);
    auto& state =
        line.add(group, "state",
                 "Show the state of a client at a moment: its channels, and messages that waited",
                 app::Reader::log, [](const auto& config) { return run_state(config, asked); });
    state.add_option("--at", asked.at,
                     "The moment, such as 15:00 or yesterday 15:00; now if not given");
    state.add_flag("--json", asked.json, "One JSON object in a line");
    add_client_options(state, asked);
    line.add(group, "verify",
             "Compare an edge's store (--data, --ops-port) with the state folded from its log; the "
             "edge may run",
             app::Reader::log, [](const auto& config) { return run_verify(config, asked); })
        .add_option("--partition", asked.partition, "Only this one")
        ->check(app::whole_number(65'535));
    add_replay_redrive(line, group);
}

}  // namespace beckon::tools
