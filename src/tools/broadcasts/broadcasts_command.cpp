#include "app/command_line.hpp"
#include "app/config/config.hpp"
#include "app/installation/installation.hpp"
#include "app/installation/key_ring_guard.hpp"
#include "core/percent.hpp"
#include "edge/broadcast/broadcast_fold.hpp"
#include "log/read_partition.hpp"
#include "records/broadcast.hpp"
#include "records/events.hpp"
#include "tools/commands.hpp"
#include "tools/running/ops_client.hpp"
#include "tools/running/tool_log.hpp"

#include <chrono>
#include <iostream>
#include <optional>
#include <thread>

#include <CLI/CLI.hpp>

namespace beckon::tools {

namespace {

using std::chrono::milliseconds;

const log::TopicPartition kBroadcasts{log::Topic::kBroadcasts, 0};
constexpr milliseconds kAnswerTimeout{20'000};
constexpr milliseconds kAskListAgain{20};

log::NewestValues read_log(app::Installation& installation) {
    auto values =
        app::must(log::read_newest_values(installation.log(), kBroadcasts, kAnswerTimeout));
    std::erase_if(values, [](const auto& entry) { return core::is_control_key(entry.first); });
    return values;
}

void refuse_too_many(const log::NewestValues& now, const edge::BroadcastSet& broadcast) {
    if (!broadcast.version || now.contains(broadcast.id) || now.size() < edge::kBroadcastsMax) {
        return;
    }
    throw app::StartupError("there are " + std::to_string(edge::kBroadcastsMax) +
                            " broadcasts, and no more are allowed: delete one");
}

void change_log(app::Installation& installation, const edge::BroadcastSet& broadcast) {
    refuse_too_many(read_log(installation), broadcast);
    app::must(publish_one(installation.log(), kBroadcasts, encode(broadcast), kAnswerTimeout),
              "the log refused the record: ");
}

/// The broadcasts of the process that runs here.
nlohmann::json ask_list(const app::Config& config) {
    const auto reply = ask_ops_port(config.ops, "/broadcasts/list");
    const bool good = reply.status == net::kOk && reply.body.is_object() &&
                      reply.body.value("complete", false) && reply.body.contains("broadcasts");
    if (good) return reply.body["broadcasts"];
    throw app::StartupError(
        "the process at the ops port " + std::to_string(config.ops.port) +
        " does not know the broadcasts (yet): --ops-port names that of a process "
        "with an edge");
}

void change_running(const app::Config& config, const edge::BroadcastSet& broadcast) {
    std::string target = broadcast.version ? "/broadcasts/set" : "/broadcasts/delete";
    target += "?token=" + edge::broadcast_token(*app::load_key_ring(config)) +
              "&id=" + core::percent_encoded(broadcast.id);
    if (broadcast.version) target += "&version=" + core::percent_encoded(*broadcast.version);
    const auto reply = ask_ops_port(config.ops, target);
    if (reply.status != net::kAccepted) {
        throw app::StartupError(
            "the process at the ops port " + std::to_string(config.ops.port) +
            " refused it: " + (reply.body.is_object() ? reply.body.value("error", "") : ""));
    }
    const auto until = std::chrono::steady_clock::now() + kAnswerTimeout;
    while (ask_list(config).value(broadcast.id, "") != broadcast.version.value_or("")) {
        if (std::chrono::steady_clock::now() > until) {
            throw app::StartupError(
                "the log did not take it in time; the process's log has the reason");
        }
        std::this_thread::sleep_for(kAskListAgain);
    }
}

log::NewestValues broadcasts_of(const app::Config& config) {
    if (is_served(config)) return ask_list(config).get<log::NewestValues>();
    app::Installation installation{config};
    return read_log(installation);
}

// All of these: on Kafka through the log, else through the running standalone, else through its log
// while it is stopped. They throw StartupError; the results are exit codes.

/// Sets a version, or without one removes the broadcast. Returns when the log has it.
int broadcasts_change(const app::Config& config, const edge::BroadcastSet& broadcast) {
    app::must(check(broadcast));
    if (is_served(config)) {
        change_running(config, broadcast);
    } else {
        app::Installation installation{config};
        change_log(installation, broadcast);
    }
    std::cout << (broadcast.version ? "set " + broadcast.id + " to " + *broadcast.version
                                    : "deleted " + broadcast.id)
              << "\n";
    return 0;
}

int broadcasts_list(const app::Config& config) {
    for (const auto& [id, version] : broadcasts_of(config))
        std::cout << id << "\t" << version << "\n";
    return 0;
}

int broadcasts_token(const app::Config& config) {
    std::cout << edge::broadcast_token(*app::load_key_ring(config)) << "\n";
    return 0;
}

}  // namespace

void add_broadcasts_command(app::CommandLine& line) {
    static edge::BroadcastSet set;
    static std::string version;
    static edge::BroadcastSet gone;
    auto& group = line.add_group("broadcasts", "Ids with versions that concern every client");
    auto& set_command =
        line.add(group, "set",
                 "Set the version of a broadcast; every client that follows it is notified at once",
                 app::Reader::broadcasts, [](const auto& config) {
                     return broadcasts_change(config, {.id = set.id, .version = version});
                 });
    set_command.add_option("ID", set.id, "Such as remote-settings/monitor_changes")->required();
    set_command
        .add_option("VERSION", version, "Any text that differs from the present one is a change")
        ->required();
    line.add(group, "list", "Show all broadcasts with their versions", app::Reader::broadcasts,
             [](const auto& config) { return broadcasts_list(config); });
    line.add(group, "delete", "Remove a broadcast; no client follows it any more",
             app::Reader::broadcasts,
             [](const auto& config) { return broadcasts_change(config, gone); })
        .add_option("ID", gone.id, "As `beckon broadcasts list` shows it")
        ->required();
    line.add(group, "token", "Print the token for /broadcasts/set at the ops port",
             app::Reader::broadcasts, [](const auto& config) { return broadcasts_token(config); });
}

}  // namespace beckon::tools
