#pragma once

#include "core/enum_names.hpp"
#include "core/ids.hpp"
#include "core/record.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

/// The records of a message in `notifications` (schemas/notification.accepted.v1.json,
/// schemas/notification.finished.v1.json).
///
/// Text members are views: of the request or state they are published from, or of the RecordView
/// they were decoded from. An event therefore lives no longer than the call that gets it.
namespace beckon::core {

/// RFC 8030 §5.3.
enum class Urgency : std::uint8_t { very_low, low, normal, high };
std::string_view to_string(Urgency urgency);
std::optional<Urgency> parse_urgency(std::string_view text);

/// beckon.notification.accepted.v1: the endpoint accepted a message.
struct NotificationAccepted {
    Uaid uaid{};
    MessageKey key{};
    /// ce_id = Location tail = `version`; never recomputed (docs/formats/tokens.md#compact-tokens).
    std::string_view message_id{};
    ChannelId channel{};
    std::uint32_t ttl_s = 0;
    std::optional<std::string_view> topic{};       ///< RFC 8030 §5.4
    std::optional<Urgency> urgency{};              ///< absent: the sender gave none
    std::optional<std::string_view> encoding{};    ///< Content-Encoding; absent without a body
    std::optional<std::string_view> encryption{};  ///< normalised header texts
    std::optional<std::string_view> crypto_key{};
    std::optional<std::string_view> reliability_id{};
    std::optional<std::string_view> traceparent{};
    std::string_view source{};  ///< node id of the endpoint
    std::string_view body{};    ///< raw bytes as sent, may be empty
    bool operator==(const NotificationAccepted&) const = default;
};

/// Why a message is finished (`ce_reason`).
enum class FinishReason : std::uint8_t { acked, expired, replaced, dropped, deleted, unregistered };
inline std::string_view to_string(FinishReason reason) { return name_of(reason); }
inline std::optional<FinishReason> parse_finish_reason(std::string_view text) {
    return value_named<FinishReason>(text);
}

/// beckon.notification.finished.v1: a tombstone. Only its key matters to a fold, as to compaction;
/// one without a reason that we know decodes as `dropped`.
struct NotificationFinished {
    Uaid uaid{};
    MessageKey key{};
    FinishReason reason = FinishReason::acked;
    std::string_view source{};
    bool operator==(const NotificationFinished&) const = default;
};

Record encode(const NotificationAccepted& event);
Record encode(const NotificationFinished& event);

/// Fills `into`, which has the ids of the record's key, from headers and value. The record has a
/// value. Returns why it cannot be read, or an empty text.
std::string_view read_record(const RecordView& record, NotificationAccepted& into);
/// The same for a record without a value. It finishes the message even with unknown headers, since
/// compaction reads the key alone.
void read_record(const RecordView& record, NotificationFinished& into);

}  // namespace beckon::core
