#pragma once

#include "app/config/config.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "inspect/store/client_state.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

/// `beckon subscriptions`: clients that move here or away, that end, and how each stands.
namespace beckon::tools {

struct ImportOptions {
    std::string file{};     ///< JSON lines, one client each; `-`: standard input
    bool dry_run = false;   ///< nothing is written
    bool seen_now = false;  ///< every client counts as seen now, whatever its `last_seen`
};

/// Publishes the clients and channels of a file to the log topic `subscriptions`, so that their
/// endpoints, made with imported `crypto_keys`, go on working; docs/coming-from-autopush.md has the
/// members. Records that the log has already are not written again, and removed clients come back.
/// Prints how many clients are new, came back, and so on (ImportKind). kFailed if lines were
/// refused; the others are imported all the same. Throws StartupError: the file or the log cannot
/// be read, or the log does not take the records.
int subscriptions_import(const app::Config& config, const ImportOptions& options);

struct ExportOptions {
    bool messages = false;  ///< the messages that wait for each client too
};

/// Prints a JSON object in a line for each client that lives: "uaid", "router_type", "router_data",
/// "last_seen" (seconds), "channelIDs", and "vapid_sha256" of the channels that are bound to a
/// VAPID key; with `messages` also "messages". Folds the log a partition at a time, in a directory
/// that is removed at the end. kFailed: not all of it was written to `out`. Throws StartupError:
/// the log cannot be read.
int subscriptions_export(const app::Config& config, const ExportOptions& options,
                         std::ostream& out);

/// Keys of a client whose newest record has a value: what compaction keeps.
struct LeftInLog {
    std::size_t messages = 0;      ///< of `notifications`
    std::size_t subscription = 0;  ///< the client and its channels
    std::size_t dead_tokens = 0;   ///< reports of a bridge that a token is dead
    std::size_t all() const { return messages + subscription; }
};
/// Reads the client's partition of both log topics. `timeout`: for each record. Errors: those of
/// log::read_partition().
core::Result<LeftInLog> left_in_log(log::EventLog& log, const core::Uaid& client,
                                    core::Partition partitions, std::chrono::milliseconds timeout);

/// Prints the client that a UAID or an endpoint URL names and what the log has of it. With `yes`
/// its home ends it, with its channels and messages, and the log is read until tombstones alone are
/// left (docs/personal-data.md). kNothingFound: the log has nothing of it. kFailed: something is
/// left after half a minute. Throws StartupError: it names no client of this installation, the log
/// cannot be read, or no edge that answers is its home.
int subscriptions_remove(const app::Config& config, const std::string& whom, bool yes);

/// The client that a person names, and of an endpoint URL its channel.
struct Whom {
    core::Uaid client;
    std::optional<core::ChannelId> channel;
};
/// Of a UAID or an endpoint URL. Throws StartupError: it names no client of this installation.
Whom parse_whom(const app::Config& config, const std::string& text);

/// Prints the client that a UAID or an endpoint URL names, with its channels and its waiting
/// messages; with `json` like `beckon replay state`. Whether it is connected now, where
/// and since when, comes from its home (ask_home()), in JSON as `connection` (null: not known). Of
/// an endpoint URL also the POSTs to it that endpoints refused of late, in JSON as `refused`.
/// Throws StartupError: it names no client of this installation, or the log cannot be read.
/// kNothingFound if the client is unknown or was removed.
int subscriptions_show(const app::Config& config, const std::string& whom, bool json);

/// Lines for people; `asked`: of an endpoint URL, its channel.
std::string state_text(const core::Uaid& client, const std::optional<core::ChannelId>& asked,
                       const inspect::ClientState& state);
/// One line for people. `page`: the answer of an edge about the client
/// (inspect/delivery/delivery_pages.hpp); discarded: none, for the reason `why_not`.
std::string connection_text(const nlohmann::json& page, const std::string& why_not);

}  // namespace beckon::tools
