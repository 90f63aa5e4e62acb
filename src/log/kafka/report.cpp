#include "log/kafka/report.hpp"

namespace beckon::log::kafka {

using core::Fault;

Fault fault_of(rd_kafka_resp_err_t error) {
    // Not a switch over all of librdkafka's codes: after a code that is not listed the outcome is
    // unknown.
    switch (error) {
        case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
        case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART: return Fault::not_found;
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
        case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE: return Fault::too_large;
        case RD_KAFKA_RESP_ERR__QUEUE_FULL: return Fault::full;
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
        case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED: return Fault::unauthorized;
        case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
        case RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP: return Fault::conflict;
        default: return Fault::unavailable;
    }
}

bool is_refused_for_size(rd_kafka_resp_err_t error) {
    return error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
           error == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE;
}

core::Error refusal(std::string_view operation, const std::string& resource) {
    return {Fault::unauthorized,
            "the broker refuses " + std::string{operation} + " on " + resource +
                ": its ACLs must allow it to this user (docs/operations/rights.md, "
                "\"Rights on a locked Kafka\")"};
}

core::Result<Appended> answer_of(const Report& report) {
    if (is_refused_for_size(report.error) && !report.alone) {
        return core::fail(Fault::unavailable,
                          "the broker refused the batch in which the record was for its size");
    }
    if (report.error != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return core::fail(fault_of(report.error), rd_kafka_err2str(report.error));
    }
    if (report.offset < 0) {
        return core::fail(Fault::unavailable, "the broker confirmed the record without an offset");
    }
    return Appended{report.offset, core::Timestamp{std::chrono::milliseconds{report.time_ms}}};
}

}  // namespace beckon::log::kafka
