#include "log/kafka/ends.hpp"

#include "log/kafka/handles.hpp"
#include "log/kafka/leaders.hpp"
#include "log/kafka/report.hpp"

#include <chrono>
#include <thread>

namespace beckon::log::kafka {

namespace {

/// One request waits so long for a silent broker; a stop waits for two of them at most.
constexpr int kEndsTimeoutMs = 500;
/// All requests of one query together wait so long.
constexpr int kSilenceMs = 5000;
constexpr int kAttempts = 20;
constexpr std::chrono::milliseconds kEndsRetryAfter{50};

/// A moment after a topic was made, or a broker was lost.
bool leader_moves(rd_kafka_resp_err_t error) {
    return error == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION ||
           error == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE || error == RD_KAFKA_RESP_ERR__TRANSPORT;
}

/// Where a partition begins (RD_KAFKA_OFFSET_BEGINNING) or ends (RD_KAFKA_OFFSET_END). Not with
/// rd_kafka_query_watermark_offsets(): when a broker hangs, that one ignores its time-out.
rd_kafka_resp_err_t query_offset(rd_kafka_t* client, const std::string& topic,
                                 core::Partition partition, std::int64_t which,
                                 core::Offset& offset) {
    const PartitionList list{rd_kafka_topic_partition_list_new(1)};
    auto* const asked = rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition);
    asked->offset = which;  // the broker takes these two for times
    const auto error = rd_kafka_offsets_for_times(client, list.get(), kEndsTimeoutMs);
    offset = list->elems[0].offset;
    return error != RD_KAFKA_RESP_ERR_NO_ERROR ? error : list->elems[0].err;
}

rd_kafka_resp_err_t query_both(rd_kafka_t* client, const std::string& topic,
                               core::Partition partition, Ends& ends) {
    const auto error =
        query_offset(client, topic, partition, RD_KAFKA_OFFSET_BEGINNING, ends.start);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return error;
    return query_offset(client, topic, partition, RD_KAFKA_OFFSET_END, ends.end);
}

}  // namespace

core::Result<Ends> query_ends(rd_kafka_t* client, const std::string& topic,
                              core::Partition partition, const std::stop_token& stop) {
    Ends ends;
    int silence_ms = 0;
    auto error = RD_KAFKA_RESP_ERR__TIMED_OUT;
    for (int attempt = 0; attempt < kAttempts && !stop.stop_requested(); ++attempt) {
        error = query_both(client, topic, partition, ends);
        if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return ends;
        if (error == RD_KAFKA_RESP_ERR__TIMED_OUT) silence_ms += kEndsTimeoutMs;
        if (stop.stop_requested() || silence_ms >= kSilenceMs) break;
        const auto learned = learn_leaders(client, topic, kEndsTimeoutMs);
        if (learned == RD_KAFKA_RESP_ERR__TIMED_OUT) silence_ms += kEndsTimeoutMs;
        if (learned == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) error = learned;
        // librdkafka says "unknown partition" of a topic that does not exist, but also of one whose
        // broker has just come back. Every topic has a partition 0.
        if (error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION && partition == 0) {
            error = learned != RD_KAFKA_RESP_ERR_NO_ERROR ? learned
                                                          : RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
        }
        if (error == RD_KAFKA_RESP_ERR__TIMED_OUT) continue;
        if (!leader_moves(error)) break;
        std::this_thread::sleep_for(kEndsRetryAfter);
    }
    if (error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
        return core::fail(refusal("Describe", "the topic " + topic));
    }
    return core::fail(fault_of(error), "cannot ask for the ends of " + topic + "/" +
                                           std::to_string(partition) + ": " +
                                           rd_kafka_err2str(error));
}

}  // namespace beckon::log::kafka
