#pragma once

#include "core/result.hpp"
#include "log/kafka/handles.hpp"
#include "log/kafka/kafka_events.hpp"

#include <chrono>
#include <stop_token>
#include <string>

namespace beckon::log::kafka {

/// Asks the cluster for all topics and brokers, for `limit` at most while no connection stands
/// (Patience); blocks up to a second more. `what` completes "cannot … at <servers>: <why>". Errors:
/// unauthorized (a login that is refused), unavailable.
core::Result<MetadataHandle> ask_metadata(rd_kafka_t* client, const KafkaEvents& events,
                                          std::chrono::milliseconds limit, const std::string& what,
                                          const std::stop_token& stop = {});

}  // namespace beckon::log::kafka
