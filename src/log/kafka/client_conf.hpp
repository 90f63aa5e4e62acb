#pragma once

#include "log/kafka/handles.hpp"
#include "log/kafka/kafka_events.hpp"
#include "log/kafka/kafka_log.hpp"

#include <initializer_list>
#include <string>
#include <utility>

namespace beckon::log::kafka {

/// One librdkafka setting by its name there.
using Setting = std::pair<const char*, std::string>;

/// A configuration of a client: what all clients share, the settings given, and the user's own
/// options (KafkaConfig::librdkafka). Errors and log lines of the client go to `events`, which
/// outlives it. Throws std::runtime_error naming the option that is refused, by us (what would
/// break a promise or belongs to an option of our own) or by librdkafka.
ConfHandle make_conf(const KafkaConfig& config, KafkaEvents& events,
                     std::initializer_list<Setting> settings);

/// Throws std::runtime_error with librdkafka's reason.
ClientHandle make_client(rd_kafka_type_t type, ConfHandle conf);

}  // namespace beckon::log::kafka
