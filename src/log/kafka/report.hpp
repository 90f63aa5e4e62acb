#pragma once

#include "core/result.hpp"
#include "log/event_log.hpp"

#include <string>
#include <string_view>

#include <librdkafka/rdkafka.h>

namespace beckon::log::kafka {

/// The delivery report of one record.
struct Report {
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
    core::Offset offset = RD_KAFKA_OFFSET_INVALID;
    std::int64_t time_ms = -1;
    /// The record shared its batch with no other one. A broker refuses a batch whole, so a refusal
    /// for the size says something about the record only then.
    bool alone = false;
};

/// The answer to the publisher. The one place where promise 1 is decided for Kafka: a report is a
/// success only with an offset. librdkafka 2.0.2 also reports success for a record whose sequence
/// number the broker calls a duplicate, without an offset, and that record may not be in the log
/// (docs/facts/kafka.md#the-rule-that-matters-most).
core::Result<Appended> answer_of(const Report& report);

/// A right that the broker refuses to this user, as text for people: `operation` is one of Kafka's
/// ACLs ("Read"), `resource` names its object ("the topic beckon.events"). The fault is
/// unauthorized.
core::Error refusal(std::string_view operation, const std::string& resource);

/// The broker's refusal of a batch for its size: of max.message.bytes, or of a segment.
bool is_refused_for_size(rd_kafka_resp_err_t error);

/// The Fault of a librdkafka error. Every `unavailable` leaves the outcome unknown.
core::Fault fault_of(rd_kafka_resp_err_t error);

}  // namespace beckon::log::kafka
