#pragma once

#include "core/clock.hpp"
#include "core/enum_names.hpp"
#include "core/partition.hpp"
#include "core/record.hpp"
#include "core/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// How an attempt ended, or why none was made; stands in records, logs and metric labels.
enum class Outcome : std::uint8_t {
    delivered,         ///< 2xx
    gone,              ///< 410: the webhook is disabled
    refused,           ///< any other answer
    throttled,         ///< 429, 502, 504, or an answer with Retry-After
    timed_out,         ///< no complete answer before the deadline
    unreachable,       ///< no address, no connection, reset, TLS failed
    forbidden,         ///< the address guard does not allow where the URL leads
    too_large,         ///< more response than an answer may have
    undeliverable,     ///< no request can be made of it: no such webhook, a broken record
    webhook_disabled,  ///< the webhook was disabled when it came due
    expired,           ///< older than a delivery may become
    /// The webhook's filter had no result: its evaluation took more steps than there are. No
    /// attempt is made.
    filter_too_costly,
    crashed,     ///< two processes ended while they attempted it; no other one is to
    event_gone,  ///< the log has its event no more
};
inline std::string_view to_string(Outcome outcome) { return core::name_of(outcome); }
inline std::optional<Outcome> parse_outcome(std::string_view text) {
    return core::value_named<Outcome>(text);
}

/// A former death of a delivery, before it was redriven.
struct PastDeadLetter {
    core::Timestamp at{};
    Outcome why = Outcome::undeliverable;
    std::uint32_t attempts = 0;  ///< made until then, since the dead letter before
    bool operator==(const PastDeadLetter&) const = default;
};

/// Where an event stands in `events`, and what is needed of it before it is read.
struct EventPlace {
    core::Partition partition = 0;
    core::Offset offset = 0;
    std::string name;       ///< event_name(): the proof that the record there is this event
    std::size_t bytes = 0;  ///< of the event's JSON
    std::string type;       ///< its first kEventTypeShown bytes
    bool operator==(const EventPlace&) const = default;
};

/// The JSON of an event; null: there is none.
using EventText = std::shared_ptr<const std::string>;

/// A larger event is named by its deliveries, and stands in `events` alone: else the log would have
/// a copy of it for each webhook and each attempt. The headers of a delivery take some 300 bytes,
/// so that a smaller event is cheaper to copy than to read again.
inline constexpr std::size_t kEventInDeliveryMax = 1'024;
/// A longer type is cut where dead letters show it.
inline constexpr std::size_t kEventTypeShown = 128;

/// One event on its way to one webhook: a record of `retry.<tier>` and of `retry.dead`.
struct Delivery {
    std::string id;       ///< the same at every attempt; the receiver's `webhook-id`
    std::string webhook;  ///< whom it is for; the record's key, which decides the partition
    std::string event;    ///< the event as a JSON object (CloudEvents); empty: `place` names it
    std::optional<EventPlace> place{};
    std::uint32_t hop = 0;       ///< how often it was written to a tier before; grows at every hop
    std::uint32_t attempts = 0;  ///< that were made
    int step = 0;                ///< of the tier table: the place of the next attempt
    core::Timestamp accepted{};  ///< append time of its first record; not set: of this record
    std::optional<Outcome> last{};          ///< of the last attempt
    std::vector<PastDeadLetter> history{};  ///< the newest kHistoryMax, the oldest first
    bool operator==(const Delivery&) const = default;

    std::size_t event_bytes() const { return place ? place->bytes : event.size(); }
};

inline constexpr std::size_t kHistoryMax = 10;
/// In place of the webhook's id in dead letters of records that belong to no webhook: no owner's
/// token shows them.
inline constexpr std::string_view kNoWebhook = "00000000000000000000000000000000";

/// A record of `topic` that cannot be read, as the dead letter that keeps it. Its event, of type
/// `beckon.record.unreadable`, has the record's place, key and value (as far as a record has
/// space), and the reason why it cannot be read. Its id follows from the place, so that a letter
/// that is written twice is one.
Delivery unreadable(std::string_view topic, core::Partition partition,
                    const core::RecordView& record, const core::Error& why);

/// A delivery's id follows from the event and the webhook alone, so that an event which is fanned
/// out twice makes deliveries that are recognised as the same. It has no dot (Standard Webhooks).
std::string delivery_id(std::string_view event_source, std::string_view event_id,
                        std::string_view webhook);

/// The name of an event among all: its source, or owner and source, and its id.
std::string event_name(std::string_view scope, std::string_view event_id);

/// The record of a tier.
core::Record encode(const Delivery& delivery);
/// The record of `retry.dead`; `delivery.last` has the reason.
core::Record encode_dead(const Delivery& delivery);
/// Both. `accepted` is the record's own time in the first one. Errors: corrupt.
core::Result<Delivery> decode_delivery(const core::RecordView& record);

}  // namespace beckon::retry
