#pragma once

#include "app/config/config.hpp"
#include "app/config/reader.hpp"

namespace beckon::app {

/// Checks, before a role makes anything (data directory, key ring, leases), the things that would
/// end its start later: the options for librdkafka, the files that settings name, that every port
/// to listen on is free, and that the process may open enough files. A start that fails for a slip
/// then leaves nothing behind. The ports are closed again, so a port that another process takes in
/// this moment still fails where it is used.
///
/// Throws StartupError or core::SetupError naming the setting and the cause. faults_of() has
/// checked the settings themselves before.
void check_start(const Config& config, Reader role);

}  // namespace beckon::app
