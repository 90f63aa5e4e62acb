#pragma once

#include "core/clock.hpp"
#include "retry/event/filter/steps.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace beckon::retry {

/// Bounds the processor time that filters take, which turns alone would not: an owner that is alone
/// in an OwnerBudget has all of its thread, beside which the same machine delivers pushes.
///
/// It has the steps that the filters of each owner may still take: Steps::kMax of one event, and of
/// many events a rate per second, with some in advance. Time is that of the log, so that events
/// which have waited for a reader do not count as if they had come at once.
///
/// All owners together have twice the quota of one. An owner may take from it until its recent use
/// equals the rest, so that the others find half of the free quota; alone, an owner has all of its
/// own. However much the others use, an owner has kAlways of each event. One thread.
class StepQuota {
public:
    /// The rate of all partitions together; some hundredths of a processor.
    static constexpr std::size_t kPerSecond = 4 * Steps::kMax;
    /// The most unused steps that an owner saves up, in each partition.
    static constexpr std::size_t kInAdvance = Steps::kMax;

    static constexpr std::size_t kAllPerSecond = 2 * kPerSecond;  ///< all owners together
    static constexpr std::size_t kAllInAdvance = 4 * kInAdvance;
    static constexpr std::size_t kAlways = 1'024;  ///< hundreds of times the steps of usual filters

    /// The quota in one of so many partitions.
    explicit StepQuota(std::size_t partitions)
        : per_ms_(static_cast<double>(kPerSecond) / 1'000 / static_cast<double>(partitions)),
          all_per_ms_(static_cast<double>(kAllPerSecond) / 1'000 /
                      static_cast<double>(partitions)) {}

    /// The steps for an owner's filters on an event appended at `time`.
    Steps of(std::string_view owner, core::Timestamp time) const {
        const auto found = spent_.find(owner);
        const auto own = found == spent_.end() ? 0.0 : still(found->second, time, per_ms_);
        const auto free = static_cast<double>(kAllInAdvance) - still(all_, time, all_per_ms_);
        // So that afterwards it has not more than is free.
        const auto share = std::max(static_cast<double>(kAlways), (free - own) / 2);
        const auto left = std::clamp(static_cast<double>(kInAdvance) - own, 0.0, share);
        return Steps{std::min(Steps::kMax, static_cast<std::size_t>(left))};
    }
    void spend(const std::string& owner, core::Timestamp time, std::size_t steps) {
        add(spent_[owner], time, per_ms_, steps);
        add(all_, time, all_per_ms_, steps);
        if (spent_.size() < sweep_at_) return;
        std::erase_if(spent_,
                      [&](const auto& one) { return still(one.second, time, per_ms_) <= 0.0; });
        sweep_at_ = std::max<std::size_t>(1'024, 2 * spent_.size());
    }
    /// The number of remembered owners: those whose use has not decayed yet.
    std::size_t size() const { return spent_.size(); }

private:
    struct Spent {
        double steps = 0;
        core::Timestamp at{};
    };
    /// The part of the use that has not decayed at `time`.
    static double still(const Spent& spent, core::Timestamp time, double per_ms) {
        const auto passed = static_cast<double>((time - spent.at).count());
        return std::max(0.0, spent.steps - std::max(0.0, passed) * per_ms);
    }
    static void add(Spent& spent, core::Timestamp time, double per_ms, std::size_t steps) {
        spent = {.steps = still(spent, time, per_ms) + static_cast<double>(steps),
                 .at = std::max(spent.at, time)};
    }

    const double per_ms_;  ///< of an owner
    const double all_per_ms_;
    Spent all_;
    std::map<std::string, Spent, std::less<>> spent_;
    std::size_t sweep_at_ = 1'024;
};

}  // namespace beckon::retry
