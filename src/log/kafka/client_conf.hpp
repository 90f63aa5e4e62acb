#pragma once

#include "core/result.hpp"
#include "log/kafka/handles.hpp"
#include "log/kafka/kafka_events.hpp"
#include "log/kafka/kafka_log.hpp"

#include <string>
#include <utility>
#include <vector>

namespace beckon::log::kafka {

/// One librdkafka setting by its name there.
using Setting = std::pair<const char*, std::string>;

/// The settings of one kind of client, beside those of all clients. The user's own options
/// (KafkaConfig::librdkafka) override the defaults, and are refused where they contradict a
/// required value; only options of the table in client_conf.cpp have one.
struct ClientSettings {
    std::vector<Setting> defaults = {};
    std::vector<Setting> required = {};
};

/// A configuration of a client. Errors and log lines of the client go to `events`, which outlives
/// it. Throws core::SetupError naming the user's option that is refused, by us (with its value
/// and why) or by librdkafka; every kind of client refuses the same ones, so that the first client
/// throws.
ConfHandle make_conf(const KafkaConfig& config, KafkaEvents& events,
                     const ClientSettings& settings);

/// Throws core::SetupError with librdkafka's reason if the user's options do not fit together or a
/// file that they name cannot be read, std::runtime_error if the system lacks memory or threads.
ClientHandle make_client(rd_kafka_type_t type, ConfHandle conf);

/// A consumer that joins nothing: it asks for offsets of this group, or commits them. `group` has
/// the prefix. Errors: unavailable.
core::Result<ClientHandle> make_group_client(const KafkaConfig& config, KafkaEvents& events,
                                             const std::string& group);

}  // namespace beckon::log::kafka
