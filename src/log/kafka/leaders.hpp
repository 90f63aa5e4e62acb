#pragma once

#include <string>

#include <librdkafka/rdkafka.h>

namespace beckon::log::kafka {

/// Asks the cluster for the leaders of a topic's partitions; waits `timeout_ms` at most. A client
/// that neither produces to a topic nor reads it keeps the leaders that it learned first:
/// librdkafka 2.0.2 asks again only for topics of its own (docs/facts/kafka.md#traps). So call this
/// after a failure of a query for offsets through such a client. Errors:
/// RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART if there is no such topic,
/// RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED if we may not Describe it, or why the cluster could
/// not be asked.
rd_kafka_resp_err_t learn_leaders(rd_kafka_t* client, const std::string& topic, int timeout_ms);

}  // namespace beckon::log::kafka
