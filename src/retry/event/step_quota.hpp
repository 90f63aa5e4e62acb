#pragma once

#include "core/clock.hpp"
#include "retry/filter/steps.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace beckon::retry {

/// How many steps the filters of each owner may still take: as many as Steps::kMax of one event,
/// and of many events as many as a second has, with some in advance. Time is that of the log, so
/// that events which have waited for a reader do not count as if they had come at once.
///
/// All owners together have twice what one has. An owner may take of it until it has taken as much
/// lately as is left, so that others find half of what is free: alone it has all of its own. And
/// kAlways of each event no other owner takes away. One thread.
class StepQuota {
public:
    /// Of all partitions together; some hundredths of a processor.
    static constexpr std::size_t kPerSecond = 4 * Steps::kMax;
    /// What has not been taken for a while may be taken at once, in each partition.
    static constexpr std::size_t kInAdvance = Steps::kMax;

    static constexpr std::size_t kAllPerSecond = 2 * kPerSecond;  ///< all owners together
    static constexpr std::size_t kAllInAdvance = 4 * kInAdvance;
    static constexpr std::size_t kAlways = 1'024;  ///< hundreds of times what filters take

    /// For one of so many partitions.
    explicit StepQuota(std::size_t partitions);

    /// For an event that was appended then.
    Steps of(std::string_view owner, core::Timestamp time) const;
    void spend(const std::string& owner, core::Timestamp time, std::size_t steps);
    /// Owners of whom something is remembered: those who have spent and not waited since.
    std::size_t size() const { return spent_.size(); }

private:
    struct Spent {
        double steps = 0;
        core::Timestamp at{};
    };
    /// What is not worn off yet.
    static double still(const Spent& spent, core::Timestamp time, double per_ms);
    static void add(Spent& spent, core::Timestamp time, double per_ms, std::size_t steps);

    const double per_ms_;  ///< of an owner
    const double all_per_ms_;
    Spent all_;
    std::map<std::string, Spent, std::less<>> spent_;
    std::size_t sweep_at_ = 1'024;
};

}  // namespace beckon::retry
