#pragma once

#include "core/result.hpp"
#include "log/event_log.hpp"

#include <string>
#include <vector>

#include <librdkafka/rdkafka.h>

/// Offsets of named groups through the Admin API, which needs no member of the group (and works
/// only while it has none). Both block up to some seconds.
namespace beckon::log::kafka {

/// Errors: unavailable, conflict (the group has members, who alone may commit).
core::Result<void> commit_offsets(rd_kafka_t* client, const std::string& prefix,
                                  const std::string& group,
                                  const std::vector<GroupOffset>& offsets);

/// Partitions without an offset are left out; the order is that of `partitions`.
core::Result<std::vector<GroupOffset>> committed_offsets(
    rd_kafka_t* client, const std::string& prefix, const std::string& group,
    const std::vector<TopicPartition>& partitions);

}  // namespace beckon::log::kafka
