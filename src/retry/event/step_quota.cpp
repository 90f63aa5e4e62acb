#include "retry/event/step_quota.hpp"

#include <algorithm>

namespace beckon::retry {

StepQuota::StepQuota(std::size_t partitions)
    : per_ms_(static_cast<double>(kPerSecond) / 1'000 / static_cast<double>(partitions)),
      all_per_ms_(static_cast<double>(kAllPerSecond) / 1'000 / static_cast<double>(partitions)) {}

double StepQuota::still(const Spent& spent, core::Timestamp time, double per_ms) {
    const auto passed = static_cast<double>((time - spent.at).count());
    return std::max(0.0, spent.steps - std::max(0.0, passed) * per_ms);
}

void StepQuota::add(Spent& spent, core::Timestamp time, double per_ms, std::size_t steps) {
    spent = {.steps = still(spent, time, per_ms) + static_cast<double>(steps),
             .at = std::max(spent.at, time)};
}

Steps StepQuota::of(std::string_view owner, core::Timestamp time) const {
    const auto found = spent_.find(owner);
    const auto own = found == spent_.end() ? 0.0 : still(found->second, time, per_ms_);
    const auto free = static_cast<double>(kAllInAdvance) - still(all_, time, all_per_ms_);
    // So that afterwards it has not more than is free.
    const auto share = std::max(static_cast<double>(kAlways), (free - own) / 2);
    const auto left = std::clamp(static_cast<double>(kInAdvance) - own, 0.0, share);
    return Steps{std::min(Steps::kMax, static_cast<std::size_t>(left))};
}

void StepQuota::spend(const std::string& owner, core::Timestamp time, std::size_t steps) {
    add(spent_[owner], time, per_ms_, steps);
    add(all_, time, all_per_ms_, steps);
    if (spent_.size() < sweep_at_) return;
    std::erase_if(spent_, [&](const auto& one) { return still(one.second, time, per_ms_) <= 0.0; });
    sweep_at_ = std::max<std::size_t>(1'024, 2 * spent_.size());
}

}  // namespace beckon::retry
