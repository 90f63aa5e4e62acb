#include "log/kafka/ends.hpp"

#include "log/kafka/handles.hpp"
#include "log/kafka/leaders.hpp"
#include "log/kafka/patience.hpp"
#include "log/kafka/report.hpp"

#include <chrono>
#include <thread>

namespace beckon::log::kafka {

namespace {

/// One request waits so long for a silent broker; a stop waits for two of them at most.
constexpr int kEndsTimeoutMs = 500;
/// All requests of one query together wait so long.
constexpr std::chrono::milliseconds kEndsAnswerMax{3500};
constexpr int kMovesTried = 20;
constexpr std::chrono::milliseconds kEndsRetryAfter{50};

/// A moment after a topic was made, or a broker was lost.
bool leader_moves(rd_kafka_resp_err_t error) {
    return error == RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION ||
           error == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE || error == RD_KAFKA_RESP_ERR__TRANSPORT;
}

/// A broker that hangs, or none to which a connection stands (yet).
bool no_answer(rd_kafka_resp_err_t error) {
    return error == RD_KAFKA_RESP_ERR__TIMED_OUT || error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
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

core::Result<Ends> query_ends(rd_kafka_t* client, const KafkaEvents& events,
                              const std::string& topic, core::Partition partition,
                              const std::stop_token& stop) {
    const core::SystemClock clock;
    Patience patience{events, kEndsAnswerMax, stop, clock};
    Ends ends;
    auto error = RD_KAFKA_RESP_ERR__TIMED_OUT;
    int moves = 0;
    do {
        if (stop.stop_requested()) break;
        error = query_both(client, topic, partition, ends);
        if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return ends;
        if (!patience.again()) break;
        const auto learned = learn_leaders(client, topic, kEndsTimeoutMs);
        if (learned == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) error = learned;
        // librdkafka says "unknown partition" of a topic that does not exist, but also of one whose
        // broker has just come back. Every topic has a partition 0.
        if (error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION && partition == 0) {
            error = learned != RD_KAFKA_RESP_ERR_NO_ERROR ? learned
                                                          : RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
        }
        if (no_answer(error)) continue;  // which took kEndsTimeoutMs
        if (!leader_moves(error) || ++moves == kMovesTried) break;
        std::this_thread::sleep_for(kEndsRetryAfter);
    } while (patience.again());
    if (error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
        return core::fail(refusal("Describe", "the topic " + topic));
    }
    if (auto why = events.login_refusal(); !why.empty()) {
        return core::fail(core::Fault::unauthorized, std::move(why));
    }
    const auto away = no_answer(error) ? events.why_away() : std::string{};
    return core::fail(fault_of(error), "cannot ask for the ends of " + topic + "/" +
                                           std::to_string(partition) + ": " +
                                           (away.empty() ? rd_kafka_err2str(error) : away));
}

}  // namespace beckon::log::kafka
