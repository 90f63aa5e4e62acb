#include "inspect/totals/reliability_pages.hpp"

#include "core/json_text.hpp"
#include "reliability/totals/pages.hpp"
#include "reliability/totals/totals_view.hpp"

#include <string_view>

#include <nlohmann/json.hpp>

namespace beckon::inspect {

namespace {

using ops::Page;

constexpr std::string_view kHistory = "/history/";

Page counts_of(const reliability::TotalsView& totals) {
    const auto counts = totals.counts();
    if (!counts) return ops::refusal(503, "No data");
    return {.body = reliability::counts_page(*counts, totals.refused())};
}

Page days_of(const reliability::TotalsView& totals) {
    auto days = nlohmann::json::array();
    for (const auto day : totals.days()) days.push_back(reliability::to_string(day));
    return {.body = core::json_text(nlohmann::json{{"days", days}})};
}

Page shown(const reliability::Report& report, reliability::Day day, const ops::Query& query) {
    if (ops::value_in(query, "format") == "md") {
        return {.type = "text/markdown; charset=utf-8", .body = report.markdown(day)};
    }
    return {.body = report.json()};
}

Page report_of(reliability::Role& role, const ops::Query& query) {
    const auto day = reliability::parse_day(ops::value_in(query, "day"));
    if (!day) return ops::refusal(400, "day=YYYY-MM-DD is missing");
    if (ops::value_in(query, "from") != "log") {
        const auto report = role.totals().report(*day);
        return report ? shown(*report, *day, query)
                      : ops::refusal(404, "there is no report of this day");
    }
    const auto made = role.report_from_log(*day);
    if (!made) return {.status = 202, .body = R"({"reading":true})"};
    if (!*made) return ops::refusal(503, made->error().message);
    return shown(**made, *day, query);
}

Page history_of(const reliability::Role& role, std::string_view id) {
    const auto found = role.find(id);
    if (!found) return ops::refusal(503, found.error().message);
    if (!*found) return ops::refusal(404, "no message with this id is known");
    return {.body = reliability::history_page(id, **found)};
}

}  // namespace

ops::Mount mount_reliability_pages(ops::OpsServer& ops, reliability::Role& role) {
    return ops.mount("/reliability", [&role](std::string_view path, const ops::Query& query) {
        if (path == "/counts") return counts_of(role.totals());
        if (path == "/flow") return Page{.body = reliability::flow_page(role.totals().flow())};
        if (path == "/days") return days_of(role.totals());
        if (path == "/report") return report_of(role, query);
        if (path.starts_with(kHistory)) return history_of(role, path.substr(kHistory.size()));
        return ops::refusal(404, "there is no such page");
    });
}

}  // namespace beckon::inspect
