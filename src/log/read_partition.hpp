#pragma once

#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/range_scan.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

/// Functions for start-ups and tools, which have no loop: each blocks its caller's thread.
/// `timeout` bounds the wait for an answer, or for the next record, not the reading of many.
namespace beckon::log {

/// All partitions of a log topic.
std::vector<TopicPartition> all_of(Topic topic, core::Partition partitions);

/// Where a partition begins and ends now.
core::Result<Ends> ends_of(EventLog& log, TopicPartition where, std::chrono::milliseconds timeout);
/// The ends of several partitions, queried at once. Partitions that do not exist are left out.
core::Result<std::map<TopicPartition, Ends>> ends_of(EventLog& log,
                                                     const std::vector<TopicPartition>& partitions,
                                                     std::chrono::milliseconds timeout);

/// As EventLog::committed.
core::Result<std::vector<GroupOffset>> committed_offsets(EventLog& log, const std::string& group,
                                                         std::vector<TopicPartition> partitions,
                                                         std::chrono::milliseconds timeout);

/// Reads a partition from its start to its end at the time of the call. Errors: timed_out, and
/// errors of PartitionReader::take that waiting does not mend.
core::Result<void> read_partition(EventLog& log, TopicPartition where, const RecordSink& sink,
                                  std::chrono::milliseconds timeout);

/// The newest value of each key; a key without a value is deleted.
using NewestValues = std::map<std::string, std::string, std::less<>>;

/// Reads a partition from its start to its present end. Errors: as read_partition().
core::Result<NewestValues> read_newest_values(EventLog& log, TopicPartition where,
                                              std::chrono::milliseconds timeout);

/// Passes on the records of a range until `sink` wants no more, but none beyond the end as it is at
/// the call. Returns the offset behind the last
/// record that was passed on, or the end of the range. Errors: as read_partition().
core::Result<core::Offset> read_range(EventLog& log, TopicPartition where, Range range,
                                      const ScanSink& sink, std::chrono::milliseconds timeout);

/// The offset of the first record appended at `time` or later; the end if there is none. Reads some
/// twenty records, however long the partition is: append times rise with offsets.
core::Result<core::Offset> offset_at(EventLog& log, TopicPartition where, core::Timestamp time,
                                     std::chrono::milliseconds timeout);

}  // namespace beckon::log
