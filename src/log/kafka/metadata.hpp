#pragma once

#include "core/clock.hpp"
#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/kafka/handles.hpp"
#include "log/kafka/kafka_events.hpp"

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <string>
#include <utility>

#include <librdkafka/rdkafka.h>

namespace beckon::log::kafka {

/// A partition, and the client that asks for its offsets. Both outlive the query.
struct EndsQuery {
    rd_kafka_t* client;
    const KafkaEvents& events;
    const std::string& topic;
    core::Partition partition;
    const std::stop_token& stop;
};

/// Asks the cluster for the offsets that a partition holds; blocks up to some seconds, and up to
/// two after `stop`. Errors: unavailable, not_found, unauthorized (a right that is missing, or a
/// login that is refused).
core::Result<Ends> query_ends(const EndsQuery& query);

/// The offset of the first record that was appended after `time`; a negative number if there is
/// none. Blocks and fails as query_ends().
core::Result<core::Offset> query_first_after(const EndsQuery& query, core::Timestamp time);

/// How long a question to the brokers is asked again while no connection stands. A new client's
/// first connection takes more than a second where brokers are busy or have just begun, since TLS
/// and the login are part of it, and until then librdkafka answers each question with "all brokers
/// are down". A login that a broker refuses is tried for a moment only: brokers apply new SCRAM
/// credentials after the command that sets them has returned.
class Patience {
public:
    static constexpr std::chrono::milliseconds kLoginMax{1000};

    Patience(const KafkaEvents& events, core::Duration limit, std::stop_token stop,
             const core::Clock& clock)
        : events_(events), clock_(clock), until_(clock.mono() + limit), stop_(std::move(stop)) {}

    /// After an attempt that failed: whether to make another one.
    bool again() {
        const auto now = clock_.mono();
        if (stop_.stop_requested() || now >= until_) return false;
        if (events_.login_refusal().empty()) {
            refused_ = core::MonoTime::max();
            return true;
        }
        refused_ = std::min(refused_, now);
        return now - refused_ < kLoginMax;
    }

private:
    const KafkaEvents& events_;
    const core::Clock& clock_;
    const core::MonoTime until_;
    const std::stop_token stop_;
    core::MonoTime refused_ = core::MonoTime::max();  ///< when again() saw a refusal first
};

/// Asks the cluster for the leaders of a topic's partitions; waits `timeout_ms` at most. A client
/// that neither produces to a topic nor reads it keeps the leaders that it learned first:
/// librdkafka 2.0.2 asks again only for topics of its own (docs/facts/kafka.md#traps). So call this
/// after a failure of a query for offsets through such a client. Errors:
/// RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART if there is no such topic,
/// RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED if we may not Describe it, or why the cluster could
/// not be asked.
rd_kafka_resp_err_t learn_leaders(rd_kafka_t* client, const std::string& topic, int timeout_ms);

/// Asks the cluster for all topics and brokers, for `limit` at most while no connection stands
/// (Patience); blocks up to a second more. `what` completes "cannot … at <servers>: <why>". Errors:
/// unauthorized (a login that is refused), unavailable.
core::Result<MetadataHandle> ask_metadata(rd_kafka_t* client, const KafkaEvents& events,
                                          std::chrono::milliseconds limit, const std::string& what,
                                          const std::stop_token& stop = {});

}  // namespace beckon::log::kafka
