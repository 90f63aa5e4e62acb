#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "retry/home/queue/scheduler.hpp"
#include "retry/home/tiers/tier_table.hpp"

#include <chrono>
#include <optional>

namespace beckon::retry {

/// Settings of the deliveries of a process.
struct DeliveryOptions {
    core::Partition partitions = 16;
    TierTable table;
    core::NodeId node{};
    Scheduler::Options schedule{};  ///< of each thread
    std::chrono::seconds age_max = std::chrono::hours{24 * 7};
    /// A webhook that has accepted nothing for so long is disabled.
    std::chrono::seconds failing_max = std::chrono::hours{24 * 5};
    /// No attempt starts that could outlive this.
    std::optional<core::MonoTime> stop_at{};
};

}  // namespace beckon::retry
