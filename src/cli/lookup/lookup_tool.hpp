#pragma once

#include "cli/config/config.hpp"

#include <ostream>
#include <string>

namespace beckon::cli {

/// `beckon message URL`: opens what a message URL, a message id or an endpoint URL has sealed with
/// the installation's key ring, and prints the names that log lines have for it. Asks nobody.
/// Throws StartupError: no ring, or the ring does not open it.
int look_up(const Config& config, const std::string& url, std::ostream& out);

}  // namespace beckon::cli
