#include "log/kafka/leaders.hpp"

#include "log/kafka/handles.hpp"

namespace beckon::log::kafka {

rd_kafka_resp_err_t learn_leaders(rd_kafka_t* client, const std::string& topic, int timeout_ms) {
    const TopicHandle handle{rd_kafka_topic_new(client, topic.c_str(), nullptr)};
    const rd_kafka_metadata_t* metadata = nullptr;
    const auto error = rd_kafka_metadata(client, 0, handle.get(), &metadata, timeout_ms);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return error;
    const MetadataHandle owner{metadata};
    if (metadata->topic_cnt != 1) return RD_KAFKA_RESP_ERR_NO_ERROR;
    const auto reported = metadata->topics[0].err;
    const bool lasting = reported == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
                         reported == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
    return lasting ? reported : RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace beckon::log::kafka
