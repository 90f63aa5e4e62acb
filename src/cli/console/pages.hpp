#pragma once

#include "cli/config/config.hpp"
#include "cli/console/console_role.hpp"
#include "console/console.hpp"

#include <functional>
#include <vector>

namespace beckon::cli {

/// Opens the pages that fold other roles' topics: "tiers", "milestones", "webhooks".
std::function<std::vector<console::PageSource>(core::Executor&)> console_pages(
    const Config& config, const ConsoleParts& parts);

}  // namespace beckon::cli
