#pragma once

#include "app/config/config.hpp"

#include <filesystem>

namespace beckon::tools {

/// `beckon backup`: copies the embedded log and the key ring of `config.data` to `target`, which
/// must not exist, while a process uses them or not. The copy is a data directory of the same
/// owner. Throws StartupError; then `target` is not there.
int run_backup(const app::Config& config, const std::filesystem::path& target);

}  // namespace beckon::tools
