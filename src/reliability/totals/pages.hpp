#pragma once

#include "core/milestone.hpp"
#include "reliability/history/history.hpp"
#include "reliability/totals/report.hpp"
#include "reliability/totals/totals_view.hpp"

#include <string>
#include <string_view>

/// Milestones in JSON, for the console, for `beckon reliability` and at the ops port.
/// schemas/openapi.yaml has the forms. Pure.
namespace beckon::reliability {

/// {"counts": {<milestone>: n, …}, "refused": [{"from", "to", "count"}, …]}
std::string counts_page(const core::MilestoneCounts& counts,
                        const std::map<Step, std::uint64_t>& refused);
/// {"steps": [{"from", "to", "count", "mean_ms", "p50_ms", "p99_ms"}, …]}
std::string flow_page(const Flow& flow);
/// The sums of a day's report: {"total", "success", "fail", "withdrawn", "milestones":
/// {<milestone>: {"count", "mean_ms": until the next one}, …}}
std::string day_page(const Report& report);
/// {"id", "current", "expires", "ended", "steps": [{"milestone", "at"}, …]}; times in milliseconds
/// since the Unix epoch.
std::string history_page(std::string_view id, const History& history);

}  // namespace beckon::reliability
