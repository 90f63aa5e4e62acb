#pragma once

#include "cli/config/config.hpp"
#include "cli/console/attempt_poller.hpp"
#include "cli/console/console_role.hpp"
#include "cli/console/dead_letters.hpp"
#include "console/console.hpp"

#include <functional>
#include <vector>

namespace beckon::cli {

/// Opens the pages that fold other roles' topics: "tiers", "milestones", "webhooks", "dead", and
/// gives `dead` its fold. The arguments outlive the pages.
std::function<std::vector<console::PageSource>(core::Executor&)> console_pages(
    const Config& config, const ConsoleParts& parts, DeadLetters& dead, AttemptPoller& attempts);

}  // namespace beckon::cli
