#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "log/topic.hpp"

#include <chrono>
#include <optional>

namespace beckon::retry {

/// What one tier of one partition has finished, and when the first of the others is due.
struct TierState {
    log::TopicPartition where;
    int tier = 0;
    std::chrono::seconds delay{};
    core::Offset low = 0;             ///< every record below is finished
    core::Offset finished_above = 0;  ///< finished records above it
    /// Of the first record that is read and not finished; negative: it is overdue. nullopt: there
    /// is none, or the log's time is not known yet.
    std::optional<core::Duration> until_due;
};

}  // namespace beckon::retry
