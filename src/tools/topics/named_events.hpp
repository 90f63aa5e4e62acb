#pragma once

#include "core/partition.hpp"
#include "core/result.hpp"
#include "log/blocking_executor.hpp"
#include "log/event_log.hpp"
#include "log/range_scan.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace beckon::tools {

/// The places of events in a copy of the log, where offsets differ. Deliveries and dead letters
/// that wait name large events by their offsets: add() collects which events are named, find()
/// reads `events` once, and rewrite() writes what waits behind itself, with the new places and one
/// hop more, so that the records before count as copies. An event that the copy does not have is
/// named as before: its delivery becomes a dead letter. Blocking; one thread.
class NamedEvents {
public:
    NamedEvents(log::EventLog& log, std::chrono::milliseconds timeout)
        : log_(log), timeout_(timeout) {}

    /// Of a tier, or of `retry.dead`, what waits in this range.
    core::Result<void> add(log::TopicPartition where, log::Range range);
    core::Result<void> find(core::Partition partitions);
    void print(std::ostream& out) const;
    /// Errors: those of Publisher; a call that fails may be made again.
    core::Result<void> rewrite() const;

    /// Whether rewrite() writes all that waits in this partition.
    bool rewrites(log::TopicPartition where) const { return ranges_.contains(where); }

private:
    using Place = std::pair<core::Partition, core::Offset>;
    core::Result<void> rewrite(log::Publisher& publisher, log::BlockingExecutor& executor,
                               log::TopicPartition where, const log::Range& range) const;
    std::vector<std::pair<log::TopicPartition, core::Record>> again(
        log::TopicPartition where, const core::RecordView& record) const;

    log::EventLog& log_;
    const std::chrono::milliseconds timeout_;
    std::map<log::TopicPartition, log::Range> ranges_;  ///< that have a named event
    /// The place of each event that is named, by its name; nullopt: not found.
    std::unordered_map<std::string, std::optional<Place>> places_;
    std::unordered_map<std::string, std::uint32_t> settled_;  ///< hop, by delivery
};

}  // namespace beckon::tools
