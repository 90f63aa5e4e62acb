#pragma once

#include "core/result.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <map>
#include <string>

namespace beckon::log {

/// The newest value of each key; a key without a value is deleted.
using NewestValues = std::map<std::string, std::string, std::less<>>;

/// Reads a partition from its start to its present end, for start-ups and tools. Blocks; any
/// thread but a loop's. Errors: timed_out, and those of the log.
core::Result<NewestValues> read_newest_values(EventLog& log, TopicPartition where,
                                              std::chrono::milliseconds timeout);

}  // namespace beckon::log
