#include "console/canary/canary_stats.hpp"

#include "core/enum_names.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace beckon::console {

using nlohmann::json;

json ms_or_null(const std::optional<core::Duration>& time) {
    if (!time) return nullptr;
    return std::round(std::chrono::duration<double, std::milli>{*time}.count() * 100) / 100;
}

void CanaryStats::add(CanaryPush push) {
    ++sent_;
    if (!push.took) {
        ++failed_;
        last_failure_ = push.why;
        last_failed_at_ = push.failed_at;
    }
    pushes_.push_back(std::move(push));
    if (pushes_.size() > kPushesMax) pushes_.pop_front();
}

std::optional<core::Duration> CanaryStats::percentile(double part) const {
    std::vector<core::Duration> times;
    for (const auto& push : pushes_) {
        if (push.took) times.push_back(*push.took);
    }
    if (times.empty()) return std::nullopt;
    std::ranges::sort(times);
    const auto rank = std::ceil(part * static_cast<double>(times.size()));
    return times[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
}

CanaryFacts::State CanaryStats::state() const {
    if (pushes_.empty()) return CanaryFacts::State::starting;
    return pushes_.back().took ? CanaryFacts::State::well : CanaryFacts::State::failing;
}

CanaryFacts::Edge CanaryStats::facts() const {
    return {.edge = edge_,
            .state = state(),
            .took = pushes_.empty() ? std::nullopt : pushes_.back().took,
            .p50 = percentile(0.5),
            .p99 = percentile(0.99),
            .why = last_failure_,
            .failed_at = last_failed_at_};
}

json CanaryStats::json() const {
    auto pushes = nlohmann::json::array();
    for (const auto& push : pushes_) {
        pushes.push_back({{"at", push.at.time_since_epoch().count()},
                          {"ms", ms_or_null(push.took)},
                          {"why", push.why}});
    }
    return {{"edge", edge_},
            {"state", core::name_of(state())},
            {"p50_ms", ms_or_null(percentile(0.5))},
            {"p99_ms", ms_or_null(percentile(0.99))},
            {"sent", sent_},
            {"failed", failed_},
            {"last_failure", last_failure_},
            {"pushes", std::move(pushes)}};
}

}  // namespace beckon::console
