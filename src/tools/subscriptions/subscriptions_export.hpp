#pragma once

#include "app/config/config.hpp"

#include <iosfwd>

/// `beckon subscriptions export`: the clients of an installation as lines that `import` reads.
namespace beckon::tools {

struct ExportOptions {
    bool messages = false;  ///< the messages that wait for each client too
};

/// Prints a JSON object in a line for each client that lives: "uaid", "router_type", "router_data",
/// "last_seen" (seconds), "channelIDs", and "vapid_sha256" of the channels that are bound to a
/// VAPID key; with `messages` also "messages". Folds the log a partition at a time, in a directory
/// that is removed at the end. kFailed: not all of it was written to `out`. Throws StartupError:
/// the log cannot be read.
int subscriptions_export(app::Config config, const ExportOptions& options, std::ostream& out);

}  // namespace beckon::tools
