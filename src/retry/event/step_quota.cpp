#include "retry/event/step_quota.hpp"

#include <algorithm>

namespace beckon::retry {

StepQuota::StepQuota(std::size_t partitions)
    : per_ms_(static_cast<double>(kPerSecond) / 1'000 / static_cast<double>(partitions)) {}

double StepQuota::left_of(const Spent& spent, core::Timestamp time) const {
    const auto passed = static_cast<double>((time - spent.at).count());
    const auto still = std::max(0.0, spent.steps - std::max(0.0, passed) * per_ms_);
    return static_cast<double>(kInAdvance) - still;
}

Steps StepQuota::of(std::string_view owner, core::Timestamp time) const {
    const auto found = spent_.find(owner);
    if (found == spent_.end()) return Steps{};
    const auto left = std::max(0.0, left_of(found->second, time));
    return Steps{std::min(Steps::kMax, static_cast<std::size_t>(left))};
}

void StepQuota::spend(const std::string& owner, core::Timestamp time, std::size_t steps) {
    auto& spent = spent_[owner];
    const auto left = left_of(spent, time);
    spent = {.steps = static_cast<double>(kInAdvance) - left + static_cast<double>(steps),
             .at = std::max(spent.at, time)};
    if (spent_.size() < sweep_at_) return;
    std::erase_if(spent_, [&](const auto& one) {
        return left_of(one.second, time) >= static_cast<double>(kInAdvance);
    });
    sweep_at_ = std::max<std::size_t>(1'024, 2 * spent_.size());
}

}  // namespace beckon::retry
