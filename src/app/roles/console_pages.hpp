#pragma once

#include "app/config/config.hpp"
#include "app/roles/console_role.hpp"
#include "console/console.hpp"
#include "console/pages/attempt_poller.hpp"
#include "console/pages/dead_letters.hpp"
#include "core/shown_clock.hpp"

#include <functional>
#include <vector>

namespace beckon::app {

/// Opens the pages that fold other roles' topics: "tiers", "milestones", "webhooks", "dead", and
/// gives `dead` its fold. The arguments outlive the pages.
std::function<std::vector<console::PageSource>(core::Executor&)> console_pages(
    const Config& config, const ConsoleParts& parts, core::ShownClock& shown,
    console::DeadLetters& dead, console::AttemptPoller& attempts);

}  // namespace beckon::app
