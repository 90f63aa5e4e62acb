#include "console/pages/sender_page.hpp"

#include "core/json_text.hpp"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::console {

std::string SenderPage::json() const {
    auto blocked = nlohmann::json::array();
    for (const auto& sender : rules_.blocked()) {
        blocked.push_back({{"kind", to_string(sender.kind)},
                           {"name", sender.name},
                           {"since", sender.since.time_since_epoch().count()},
                           {"why", sender.why}});
    }
    const auto rates = busiest_();
    std::vector<std::pair<double, std::string>> sorted;
    for (const auto& [name, rate] : rates) {
        if (rate > 0) sorted.emplace_back(rate, name);
    }
    std::sort(sorted.rbegin(), sorted.rend());
    sorted.resize(std::min(sorted.size(), kBusiestMax));
    auto busiest = nlohmann::json::array();
    for (const auto& [rate, name] : sorted) {
        busiest.push_back({{"name", name}, {"per_second", rate}});
    }
    return core::json_text(
        nlohmann::json{{"blocked", std::move(blocked)},
                       {"limits",
                        {{"vapid", rules_.limit(core::SenderKind::vapid)},
                         {"subscription", rules_.limit(core::SenderKind::subscription)}}},
                       {"busiest", std::move(busiest)}});
}

}  // namespace beckon::console
