#pragma once

#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/kafka/kafka_events.hpp"

#include <stop_token>
#include <string>

#include <librdkafka/rdkafka.h>

namespace beckon::log::kafka {

/// A partition, and the client that asks for its offsets. What it refers to outlives the query.
struct EndsQuery {
    rd_kafka_t* client;
    const KafkaEvents& events;
    const std::string& topic;
    core::Partition partition;
    const std::stop_token& stop;
};

/// Asks the cluster for the offsets that a partition holds; blocks up to some seconds, and up to
/// two after `stop`. Errors: unavailable, not_found, unauthorized (a right that is missing, or a
/// login that is refused).
core::Result<Ends> query_ends(const EndsQuery& query);

/// The offset of the first record that was appended after `time`; a negative number if there is
/// none. Blocks and fails as query_ends().
core::Result<core::Offset> query_first_after(const EndsQuery& query, core::Timestamp time);

}  // namespace beckon::log::kafka
