#include "console/pages/milestone_page.hpp"

#include "core/json_text.hpp"
#include "reliability/totals/pages.hpp"

#include <iterator>

#include <nlohmann/json.hpp>

namespace beckon::console {

MilestonePage::MilestonePage(const core::NodeId& node, log::EventLog& log, core::Executor& executor,
                             const core::Clock& clock)
    : publisher_(log.open_publisher(executor)),
      totals_(node, fold::Fold::Context{log, *publisher_, executor, clock}) {}

std::string MilestonePage::json() const {
    const auto counts = totals_.counts();
    if (!counts) return {};
    auto reported = core::must_parse_json(reliability::counts_page(*counts, totals_.refused()));
    reported.update(core::must_parse_json(reliability::flow_page(totals_.flow())));
    auto days = nlohmann::json::array();
    const auto known = totals_.days();
    auto day =
        known.size() > std::size_t{kDaysMax} ? std::prev(known.end(), kDaysMax) : known.begin();
    for (; day != known.end(); ++day) {
        const auto report = totals_.report(*day);
        if (!report) continue;
        auto sums = core::must_parse_json(reliability::day_page(*report));
        sums["day"] = reliability::to_string(*day);
        days.push_back(std::move(sums));
    }
    reported["days"] = std::move(days);
    return core::json_text(reported);
}

}  // namespace beckon::console
