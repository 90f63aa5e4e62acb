#pragma once

#include "app/config/config.hpp"

#include <string>

/// `beckon subscriptions`: clients of an installation that moves here.
namespace beckon::tools {

/// Publishes the clients and channels of a file (`-`: standard input) to the log topic
/// `subscriptions`, so that their endpoints, made with imported `crypto_keys`, go on working. JSON
/// lines, one client each; docs/operations.md has the members. Later records of a client's home win
/// over an import, so repeating it changes nothing; of a bridged client the later record wins, as
/// always. Throws StartupError with the number of the line that it could not import; the lines
/// before it are imported.
int subscriptions_import(app::Config config, const std::string& file);

}  // namespace beckon::tools
