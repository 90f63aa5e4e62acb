#include "reliability/totals/pages.hpp"

#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::reliability {

namespace {

using Json = nlohmann::ordered_json;

std::int64_t ms_of(Timestamp time) { return time.time_since_epoch().count(); }

}  // namespace

std::string counts_page(const core::MilestoneCounts& counts,
                        const std::map<Step, std::uint64_t>& refused) {
    Json by_name = Json::object();
    for (const auto milestone : core::kAllMilestones) {
        by_name[std::string{core::to_string(milestone)}] = counts[milestone];
    }
    Json pairs = Json::array();
    for (const auto& [step, count] : refused) {
        pairs.push_back({{"from", core::to_string(step.from)},
                         {"to", core::to_string(step.to)},
                         {"count", count}});
    }
    return core::json_text(Json{{"counts", std::move(by_name)}, {"refused", std::move(pairs)}});
}

std::string flow_page(const Flow& flow) {
    Json steps = Json::array();
    for (const auto& [step, durations] : flow) {
        steps.push_back({{"from", core::to_string(step.from)},
                         {"to", core::to_string(step.to)},
                         {"count", durations.count()},
                         {"mean_ms", durations.mean().count()},
                         {"p50_ms", durations.at_quantile(0.5).count()},
                         {"p99_ms", durations.at_quantile(0.99).count()}});
    }
    return core::json_text(Json{{"steps", std::move(steps)}});
}

std::string day_page(const Report& report) {
    Json milestones = Json::object();
    for (const auto milestone : core::kAllMilestones) {
        const auto& stay = report.stay(milestone);
        if (stay.count == 0) continue;
        const auto mean = stay.total.count() / static_cast<std::int64_t>(stay.count);
        milestones[std::string{core::to_string(milestone)}] = {{"count", stay.count},
                                                               {"mean_ms", mean}};
    }
    return core::json_text(Json{{"total", report.total_count()},
                                {"success", report.success_count()},
                                {"fail", report.fail_count()},
                                {"withdrawn", report.withdrawn_count()},
                                {"milestones", std::move(milestones)}});
}

std::string history_page(std::string_view id, const History& history) {
    Json steps = Json::array();
    for (const auto& reached : history.steps()) {
        steps.push_back(
            {{"milestone", core::to_string(reached.milestone)}, {"at", ms_of(reached.at)}});
    }
    const auto current = history.current();
    const auto ended = history.ended();
    return core::json_text(Json{{"id", id},
                                {"current", current ? Json(core::to_string(*current)) : Json()},
                                {"expires", ms_of(history.expires())},
                                {"ended", ended ? Json(ms_of(*ended)) : Json()},
                                {"steps", std::move(steps)}});
}

}  // namespace beckon::reliability
