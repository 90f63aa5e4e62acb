#pragma once

#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/kafka/kafka_events.hpp"

#include <stop_token>
#include <string>

#include <librdkafka/rdkafka.h>

namespace beckon::log::kafka {

/// Asks the cluster for the offsets that a partition holds; blocks up to some seconds, and up to
/// two after `stop`. Errors: unavailable, not_found, unauthorized (a right that is missing, or a
/// login that is refused).
core::Result<Ends> query_ends(rd_kafka_t* client, const KafkaEvents& events,
                              const std::string& topic, core::Partition partition,
                              const std::stop_token& stop);

}  // namespace beckon::log::kafka
