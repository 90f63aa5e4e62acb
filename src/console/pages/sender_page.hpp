#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "fold/sender_rules.hpp"
#include "log/event_log.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace beckon::console {

/// The senders that are blocked, and the limits of senders: a fold of `control`. The executor's
/// thread.
class SenderPage {
public:
    /// `busiest`: OwnershipView::busiest_senders().
    SenderPage(log::EventLog& log, core::Executor& executor, const core::Clock& clock,
               std::function<std::map<std::string, double>()> busiest)
        : busiest_(std::move(busiest)),
          rules_("console", {.log = log, .executor = executor, .clock = clock}) {}

    /// Keys that the page shows.
    static constexpr std::size_t kBusiestMax = 10;

    /// {"blocked": [{"kind", "name", "since": Unix milliseconds, "why"}, …], "limits": {"vapid",
    /// "subscription": messages a second, 0: none}, "busiest": [{"name", "per_second"}, …], the
    /// greatest first}.
    std::string json() const;

private:
    const std::function<std::map<std::string, double>()> busiest_;
    fold::SenderRules rules_;
};

}  // namespace beckon::console
