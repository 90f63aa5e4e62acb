#pragma once

#include "app/config/config.hpp"

#include <string>

/// `beckon subscriptions import`: clients of an installation that moves here.
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
int subscriptions_import(app::Config config, const ImportOptions& options);

}  // namespace beckon::tools
