#pragma once

#include "app/config/config.hpp"
#include "app/config/reader.hpp"
#include "app/process/process.hpp"
#include "ops/health.hpp"

#include <filesystem>

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

/// Waits until the disk of `data` has 64 MiB free: on a full one no database can be
/// opened. Meanwhile the process is not ready: `/ready` and one line of the log a minute have the
/// reason. Where the space cannot be asked for, it does not wait. Throws StartupError when a signal
/// asks for a stop.
void await_disk_space(const std::filesystem::path& data, ops::Health& health,
                      const Signals& signals);

}  // namespace beckon::app
