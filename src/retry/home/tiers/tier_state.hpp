#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "log/topic.hpp"

#include <chrono>
#include <optional>

namespace beckon::retry {

/// The progress of one tier of one partition: which records are finished, and when the first
/// unfinished one is due.
struct TierState {
    log::TopicPartition where;
    int tier = 0;
    std::chrono::seconds delay{};
    core::Offset low = 0;             ///< every record below is finished
    core::Offset finished_above = 0;  ///< finished records above it
    /// Until the first record that was read and is not finished is due; negative: it is overdue.
    /// nullopt: there is none, or the log's time is not known yet.
    std::optional<core::Duration> until_due;
};

}  // namespace beckon::retry
