#pragma once

#include "cli/config/config.hpp"

/// `beckon topics`: flags to topics_tool.hpp. Exit codes: 0 done, 1 refused or failed.
namespace beckon::cli {

int topics_create(Config config, bool dry_run);
int topics_describe(Config config);
int topics_destroy(Config config, bool dry_run);

}  // namespace beckon::cli
