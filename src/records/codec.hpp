#pragma once

#include "core/record.hpp"
#include "core/result.hpp"
#include "records/events.hpp"

/// Events to records and back: keys, CloudEvents headers (Kafka binary mode) and values as
/// docs/formats/records.md has them. Pure functions, any thread.
namespace beckon::core {

/// Header names, all that Beckon writes or reads.
namespace header {
inline constexpr std::string_view kId = "ce_id";
inline constexpr std::string_view kType = "ce_type";
inline constexpr std::string_view kSource = "ce_source";
inline constexpr std::string_view kSpecVersion = "ce_specversion";
inline constexpr std::string_view kSubject = "ce_subject";
inline constexpr std::string_view kTtl = "ce_ttl";
inline constexpr std::string_view kTopic = "ce_topic";
inline constexpr std::string_view kUrgency = "ce_urgency";
inline constexpr std::string_view kEncoding = "ce_encoding";
inline constexpr std::string_view kEncryption = "ce_encryption";
inline constexpr std::string_view kCryptoKey = "ce_cryptokey";
inline constexpr std::string_view kReliabilityId = "ce_reliabilityid";
inline constexpr std::string_view kReason = "ce_reason";
inline constexpr std::string_view kEpoch = "ce_epoch";
inline constexpr std::string_view kSeq = "ce_seq";
inline constexpr std::string_view kTraceparent = "traceparent";
inline constexpr std::string_view kContentType = "content-type";
inline constexpr std::string_view kNode = "node";
}  // namespace header

/// Values of `ce_type`; each is a file in schemas/.
namespace event_type {
inline constexpr std::string_view kAccepted = "beckon.notification.accepted.v1";
inline constexpr std::string_view kFinished = "beckon.notification.finished.v1";
inline constexpr std::string_view kClient = "beckon.client.v1";
inline constexpr std::string_view kChannel = "beckon.channel.v1";
inline constexpr std::string_view kBarrier = "beckon.mark.v1";
inline constexpr std::string_view kLease = "beckon.lease.v1";
}  // namespace event_type

Record encode(const NotificationAccepted& event);
Record encode(const NotificationFinished& event);
Record encode(const ClientRecorded& event);
Record encode(const ClientRemoved& event);
Record encode(const ChannelRecorded& event);
Record encode(const ChannelRemoved& event);
Record encode(const BarrierRecord& event);
/// The lease's form in `notifications` and `subscriptions`; `removed` makes the tombstone.
Record encode(const Lease& event);

/// Decode never fails: a record that does not decode is `Unknown` with the reason, and the caller
/// counts it. The event's views point into `record` (and, for JSON values, into `scratch`).
struct DecodeScratch {
    std::string router_data;
    std::string vapid_sha256;
    std::string node;
    std::string role;
};
NotificationsEvent decode_notification(const RecordView& record, DecodeScratch& scratch);
SubscriptionsEvent decode_subscription(const RecordView& record, DecodeScratch& scratch);

/// True for keys that folds skip (read barriers and leases).
inline bool is_control_key(std::string_view key) { return key.starts_with('!'); }

}  // namespace beckon::core
