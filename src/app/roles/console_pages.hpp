#pragma once

#include "app/config/config.hpp"
#include "app/roles/console_role.hpp"
#include "console/console.hpp"
#include "console/pages/attempt_poller.hpp"
#include "core/shown_clock.hpp"

#include <functional>
#include <vector>

namespace beckon::app {

/// Opens the pages of other roles: "tiers", "milestones" and "webhooks", which fold topics, and
/// "dead". The arguments outlive the pages.
std::function<std::vector<console::PageSource>(core::Executor&)> console_pages(
    const Config& config, const ConsoleParts& parts, core::ShownClock& shown,
    const console::AttemptPoller& retry);

}  // namespace beckon::app
