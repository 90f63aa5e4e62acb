#include "console/pages/milestone_page.hpp"

#include "core/json_text.hpp"
#include "reliability/totals/pages.hpp"

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
    return core::json_text(reported);
}

}  // namespace beckon::console
