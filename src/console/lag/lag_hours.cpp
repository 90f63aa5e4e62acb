#include "console/lag/lag_hours.hpp"

#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::console {

bool LagHours::add(const LagPage& page) {
    if (page.rows.empty() || (!at_.empty() && page.at - at_.back() < kEvery)) return false;
    std::map<Pair, core::Offset> now;
    for (const auto& row : page.rows) now[{row.group, row.where.topic}] += row.lag();
    std::erase_if(records_, [&now](const auto& item) { return !now.contains(item.first); });
    for (const auto& [pair, records] : now) {
        if (records_.contains(pair) || records_.size() == kPairsMax) continue;
        records_[pair].resize(at_.size());  // it was not there
    }
    at_.push_back(page.at);
    for (auto& [pair, records] : records_) records.emplace_back(now.at(pair));
    if (at_.size() <= kPointsMax) return true;
    at_.pop_front();
    for (auto& [pair, records] : records_) records.pop_front();
    return true;
}

std::string LagHours::json() const {
    auto at = nlohmann::json::array();
    for (const auto& time : at_) at.push_back(time.time_since_epoch().count());
    auto groups = nlohmann::json::array();
    for (const auto& [pair, known] : records_) {
        auto records = nlohmann::json::array();
        for (const auto& one : known) records.push_back(one ? nlohmann::json(*one) : nullptr);
        groups.push_back(
            {{"group", pair.first}, {"topic", pair.second}, {"records", std::move(records)}});
    }
    return core::json_text(nlohmann::json{{"at", std::move(at)}, {"groups", std::move(groups)}});
}

}  // namespace beckon::console
