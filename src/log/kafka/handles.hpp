#pragma once

#include "core/handle.hpp"

#include <librdkafka/rdkafka.h>

/// Owners of librdkafka's objects.
namespace beckon::log::kafka {

using core::Handle;

/// The client gets no new login any more (client_conf.cpp). Any thread.
void forget_client(rd_kafka_t* client) noexcept;

/// Without closing a consumer first: only members have to leave their group at the end, and they do
/// it themselves (kafka_log.cpp).
inline void destroy_client(rd_kafka_t* client) noexcept {
    forget_client(client);
    rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

using ClientHandle = Handle<rd_kafka_t, destroy_client>;
using ConfHandle = Handle<rd_kafka_conf_t, rd_kafka_conf_destroy>;
using TopicHandle = Handle<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using QueueHandle = Handle<rd_kafka_queue_t, rd_kafka_queue_destroy>;
using EventHandle = Handle<rd_kafka_event_t, rd_kafka_event_destroy>;
using ErrorHandle = Handle<rd_kafka_error_t, rd_kafka_error_destroy>;
using HeadersHandle = Handle<rd_kafka_headers_t, rd_kafka_headers_destroy>;
using MessageHandle = Handle<rd_kafka_message_t, rd_kafka_message_destroy>;
using PartitionList =
    Handle<rd_kafka_topic_partition_list_t, rd_kafka_topic_partition_list_destroy>;
using MetadataHandle = Handle<const rd_kafka_metadata_t, rd_kafka_metadata_destroy>;
using AdminOptionsHandle = Handle<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy>;

}  // namespace beckon::log::kafka
