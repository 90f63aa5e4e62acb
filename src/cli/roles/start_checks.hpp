#pragma once

#include "cli/config/config.hpp"
#include "cli/config/reader.hpp"

namespace beckon::cli {

/// Checks, before a role makes anything (data directory, key ring, leases), at what would end its
/// start later: files that settings name, and whether every port that it is to listen on is free.
/// A start that fails for a slip then leaves nothing behind. Ports are let go again, so that one
/// which somebody takes in this moment is still found where it is used.
///
/// Throws StartupError naming the setting and the cause. What settings say is judged before
/// (faults_of()).
void check_start(const Config& config, Reader role);

}  // namespace beckon::cli
