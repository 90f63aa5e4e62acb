#pragma once

#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/read_partition.hpp"

#include <chrono>
#include <functional>

namespace beckon::inspect {

/// How long a tool waits, and until when it goes on.
struct ScanLimits {
    std::chrono::milliseconds timeout{10'000};  ///< for an answer, or for the next record
    /// Asked at each record: true ends the reading. Empty: read as much as there is.
    std::function<bool()> given_up = {};
};

/// log::read_range() from `from` on, within limits. Errors: its own, and timed_out: it was given
/// up.
core::Result<void> scan(log::EventLog& log, log::TopicPartition where, core::Offset from,
                        const log::ScanSink& sink, const ScanLimits& limits);

}  // namespace beckon::inspect
