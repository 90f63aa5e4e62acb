#pragma once

#include "app/process/process.hpp"
#include "ops/health.hpp"

#include <cstdint>
#include <filesystem>

namespace beckon::app {

/// Bytes that the databases of a process may write before they are open: each first writes the
/// records of its write-ahead log into tables.
inline constexpr std::uintmax_t kSpaceToStart = std::uintmax_t{64} << 20;

/// Waits until the disk of `data` has kSpaceToStart bytes free: on a full one no database can be
/// opened. Meanwhile the process is not ready: `/ready` and one line of the log a minute have the
/// reason. Where the space cannot be asked for, it does not wait. Throws StartupError when a signal
/// asks for a stop.
void await_disk_space(const std::filesystem::path& data, ops::Health& health,
                      const Signals& signals);

}  // namespace beckon::app
