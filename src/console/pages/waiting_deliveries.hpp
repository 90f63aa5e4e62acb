#pragma once

#include "core/clock.hpp"
#include "core/partition.hpp"
#include "core/result.hpp"
#include "inspect/trace/scan.hpp"
#include "log/event_log.hpp"
#include "records/delivery.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

/// The deliveries that wait for one webhook. Blocking.
namespace beckon::console {

/// A delivery in a delay topic.
struct WaitingDelivery {
    std::string id;
    core::Offset offset = 0;
    std::uint32_t attempts = 0;            ///< made
    std::optional<retry::Outcome> last{};  ///< of the last attempt
    core::Timestamp due{};                 ///< append time plus the tier's delay
};

struct WaitingTier {
    int tier = 0;
    std::chrono::seconds delay{};
    std::size_t waiting = 0;
    std::vector<WaitingDelivery> first;  ///< the deliveries that are due first, at most kShown
};

struct WaitingDeliveries {
    static constexpr std::size_t kShown = 10;
    /// Of all webhooks of the partition; beyond that the count is incomplete.
    static constexpr std::size_t kRecordsMax = 200'000;

    core::Partition partition = 0;
    std::vector<WaitingTier> tiers;  ///< with deliveries that wait; the shortest delay first
    bool complete = true;            ///< all records that wait were read
};

/// Reads the records of the webhook's partition that are not finished by `retry.done`. That topic
/// is written a moment after an attempt, so a delivery that was just accepted may still be counted.
/// Errors: those of inspect::scan().
core::Result<WaitingDeliveries> waiting_deliveries(log::EventLog& log, const std::string& webhook,
                                                   const std::vector<std::chrono::seconds>& tiers,
                                                   core::Partition partitions,
                                                   const inspect::ScanLimits& limits);

}  // namespace beckon::console
