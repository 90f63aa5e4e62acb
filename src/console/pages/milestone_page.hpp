#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/ids.hpp"
#include "log/event_log.hpp"
#include "reliability/totals/totals_view.hpp"

#include <memory>
#include <string>

namespace beckon::console {

/// The counts of the role reliability, for the console: a fold of `reliability.totals`. The
/// executor's thread.
class MilestonePage {
public:
    MilestonePage(const core::NodeId& node, log::EventLog& log, core::Executor& executor,
                  const core::Clock& clock);

    /// How many days a page has.
    static constexpr int kDaysMax = 30;

    /// {"counts": …, "refused": …, "steps": …} as the pages of the role have them, and "days": the
    /// newest reports, each with its "day"; empty: no counts have been published yet.
    std::string json() const;

private:
    const std::unique_ptr<log::Publisher> publisher_;
    reliability::TotalsView totals_;
};

}  // namespace beckon::console
