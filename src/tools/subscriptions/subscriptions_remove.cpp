#include "app/command/output.hpp"
#include "app/exit_codes.hpp"
#include "app/process/process.hpp"
#include "core/decimal.hpp"
#include "core/log_names.hpp"
#include "inspect/store/client_state.hpp"
#include "log/read_partition.hpp"
#include "records/client_gone.hpp"
#include "tools/running/ownership.hpp"
#include "tools/running/tool_log.hpp"
#include "tools/subscriptions/subscriptions_tool.hpp"

#include <map>
#include <thread>

namespace beckon::tools {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kRead{10'000};
/// An edge answers a page of its ops port within ten seconds.
constexpr milliseconds kRemoval{12'000};
/// Tombstones of messages and channels follow the client's own.
constexpr std::chrono::seconds kTombstones{30};
constexpr milliseconds kReadAgain{500};

/// "3 channels, 2 waiting messages and the token of its bridge".
std::string parts_of(const inspect::ClientState& state) {
    auto text = core::counted(state.channels.size(), "channel", "channels") + ", " +
                core::counted(state.waiting.size(), "waiting message", "waiting messages");
    if (state.client && !state.client->router_data.empty()) text += ", the token of its bridge";
    return text;
}

LeftInLog must_read(ToolLog& log, const core::Uaid& client) {
    return app::must(left_in_log(log.log(), client, log.control().partitions, kRead),
                     "cannot read the log: ");
}

void must_remove(ToolLog& log, const app::Config& config, const core::Uaid& client) {
    const auto home =
        ask_home(log, config, "/delivery/remove?uaid=" + core::to_hex(client), kRemoval);
    if (!home.page.is_object()) throw app::StartupError("it was not removed: " + home.why_not);
    if (home.page.value("removed", false)) return;
    throw app::StartupError(
        "its home has begun to remove it, and cannot say that it is done: the log did not answer, "
        "or another removal of it is under way. Run the command again");
}

/// Until nothing is left, or kTombstones are over.
LeftInLog wait_for_tombstones(ToolLog& log, const core::Uaid& client) {
    const auto until = steady_clock::now() + kTombstones;
    for (;;) {
        const auto left = must_read(log, client);
        if (left.all() == 0 || steady_clock::now() >= until) return left;
        std::this_thread::sleep_for(kReadAgain);
    }
}

}  // namespace

core::Result<LeftInLog> left_in_log(log::EventLog& log, const core::Uaid& client,
                                    core::Partition partitions, milliseconds timeout) {
    LeftInLog left;
    const auto prefix = core::to_hex(client);
    const auto partition = core::partition_of(client, partitions);
    for (const auto topic : {log::Topic::kNotifications, log::Topic::kSubscriptions}) {
        std::map<std::string, std::size_t LeftInLog::*, std::less<>> keys;
        const auto sink = [&](const core::RecordView& record) {
            if (!record.key.starts_with(prefix)) return;
            if (!record.value) {
                keys.erase(std::string{record.key});
                return;
            }
            auto kind = topic == log::Topic::kNotifications ? &LeftInLog::messages
                                                            : &LeftInLog::subscription;
            if (core::decode_client_gone(record)) kind = &LeftInLog::dead_tokens;
            keys.insert_or_assign(std::string{record.key}, kind);
        };
        const auto read = log::read_partition(log, {topic, partition}, sink, timeout);
        if (!read) return core::fail(read.error());
        for (const auto& [key, kind] : keys) ++(left.*kind);
    }
    return left;
}

int subscriptions_remove(const app::Config& config, const std::string& whom, bool yes) {
    const auto client = parse_whom(config, whom).client;  // refused before a broker is asked
    ToolLog log{config};
    const auto state =
        app::must(inspect::state_of_client(log.log(), client, core::SystemClock{}.wall(),
                                           log.control().partitions, {.timeout = kRead}));
    const auto before = must_read(log, client);
    app::print_line("Log lines call this client " + core::log_name(client) + ".");
    if (!state.client && before.all() == 0) {
        app::print_line("The log has nothing of it but tombstones.");
        return app::kNothingFound;
    }
    if (!state.client) {
        app::print_line("It is removed already; the log still has " +
                        core::counted(before.all(), "record", "records") + " of it.");
    } else {
        app::print_line("It has " + parts_of(state) + ".");
    }
    if (!yes) {
        app::print_line("Nothing was changed: --yes removes it with all of these.");
        return app::kDone;
    }
    must_remove(log, config, client);
    const auto left = wait_for_tombstones(log, client);
    if (left.all() > 0) {
        app::print_error("beckon: the client is gone, and " +
                         core::counted(left.all(), "record", "records") +
                         " of it have no tombstone yet: run the command again");
        return app::kFailed;
    }
    app::print_line("Removed: the client, " + parts_of(state) +
                    ". The log has nothing of it but tombstones.");
    if (left.dead_tokens > 0) {
        app::print_line("What stays: " +
                        core::counted(left.dead_tokens, "record that says", "records that say") +
                        " that a token of its bridge is dead, with its UAID and a hash.");
    }
    return app::kDone;
}

}  // namespace beckon::tools
