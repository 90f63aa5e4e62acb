#include "log/kafka/metadata.hpp"

#include "log/kafka/handles.hpp"
#include "log/kafka/report.hpp"

#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

namespace beckon::log::kafka {

namespace {

/// One request waits so long.
constexpr int kMetadataAskMs = 1000;

}  // namespace

core::Result<MetadataHandle> ask_metadata(rd_kafka_t* client, const KafkaEvents& events,
                                          std::chrono::milliseconds limit, const std::string& what,
                                          const std::stop_token& stop) {
    const core::SystemClock clock;
    Patience patience{events, limit, stop, clock};
    const rd_kafka_metadata_t* metadata = nullptr;
    auto error = RD_KAFKA_RESP_ERR_NO_ERROR;
    do {
        error = rd_kafka_metadata(client, 1, nullptr, &metadata, kMetadataAskMs);
        if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return MetadataHandle{metadata};
    } while (fault_of(error) == core::Fault::unavailable && patience.again());
    if (auto why = events.login_refusal(); !why.empty()) {
        return core::fail(core::Fault::unauthorized, std::move(why));
    }
    const auto away = events.why_away();
    return core::fail(fault_of(error), "cannot " + what + " at " + events.servers() + ": " +
                                           (away.empty() ? rd_kafka_err2str(error) : away));
}

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

/// The first offset with this time or a later one, or where a partition begins
/// (RD_KAFKA_OFFSET_BEGINNING) or ends (RD_KAFKA_OFFSET_END): the broker takes these two for times.
/// Not with rd_kafka_query_watermark_offsets(): when a broker hangs, that one ignores its time-out.
rd_kafka_resp_err_t query_offset(const EndsQuery& query, std::int64_t time, core::Offset& offset) {
    const PartitionList list{rd_kafka_topic_partition_list_new(1)};
    auto* const asked =
        rd_kafka_topic_partition_list_add(list.get(), query.topic.c_str(), query.partition);
    asked->offset = time;
    const auto error = rd_kafka_offsets_for_times(query.client, list.get(), kEndsTimeoutMs);
    offset = list->elems[0].offset;
    return error != RD_KAFKA_RESP_ERR_NO_ERROR ? error : list->elems[0].err;
}

/// Asks again for as long as that may help.
template <class Answer>
core::Result<Answer> persist(const EndsQuery& query, std::string_view what,
                             const std::function<rd_kafka_resp_err_t(Answer&)>& ask) {
    const core::SystemClock clock;
    Patience patience{query.events, kEndsAnswerMax, query.stop, clock};
    Answer answer{};
    auto error = RD_KAFKA_RESP_ERR__TIMED_OUT;
    int moves = 0;
    do {
        if (query.stop.stop_requested()) break;
        error = ask(answer);
        if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return answer;
        if (!patience.again()) break;
        const auto learned = learn_leaders(query.client, query.topic, kEndsTimeoutMs);
        if (learned == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) error = learned;
        // librdkafka says "unknown partition" of a topic that does not exist, but also of one whose
        // broker has just come back. Every topic has a partition 0.
        if (error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION && query.partition == 0) {
            error = learned != RD_KAFKA_RESP_ERR_NO_ERROR ? learned
                                                          : RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
        }
        if (no_answer(error)) continue;  // which took kEndsTimeoutMs
        if (!leader_moves(error) || ++moves == kMovesTried) break;
        std::this_thread::sleep_for(kEndsRetryAfter);
    } while (patience.again());
    if (error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
        return core::fail(refusal("Describe", "the topic " + query.topic));
    }
    if (auto why = query.events.login_refusal(); !why.empty()) {
        return core::fail(core::Fault::unauthorized, std::move(why));
    }
    const auto away = no_answer(error) ? query.events.why_away() : std::string{};
    return core::fail(fault_of(error), "cannot ask for " + std::string{what} + " of " +
                                           query.topic + "/" + std::to_string(query.partition) +
                                           ": " + (away.empty() ? rd_kafka_err2str(error) : away));
}

}  // namespace

core::Result<Ends> query_ends(const EndsQuery& query) {
    return persist<Ends>(query, "the ends", [&](Ends& ends) {
        const auto error = query_offset(query, RD_KAFKA_OFFSET_BEGINNING, ends.start);
        if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return error;
        return query_offset(query, RD_KAFKA_OFFSET_END, ends.end);
    });
}

core::Result<core::Offset> query_first_after(const EndsQuery& query, core::Timestamp time) {
    return persist<core::Offset>(query, "an offset", [&](core::Offset& offset) {
        return query_offset(query, time.time_since_epoch().count() + 1, offset);
    });
}

}  // namespace beckon::log::kafka
