#pragma once

#include "core/overloaded.hpp"
#include "core/record.hpp"
#include "records/barrier.hpp"
#include "records/channel.hpp"
#include "records/client.hpp"
#include "records/headers.hpp"
#include "records/lease.hpp"
#include "records/log_key.hpp"
#include "records/message.hpp"

#include <string>
#include <string_view>
#include <variant>

/// The events of `notifications` and `subscriptions`: the types that their records may have, and
/// the decoding of records. Keys, CloudEvents headers (Kafka binary mode) and values are as
/// docs/formats/records.md has them. Pure functions, any thread.
namespace beckon::core {

/// A record of a type or key form that this build does not know. Counted and skipped, never fatal.
struct Unknown {
    std::string_view why{};
    bool operator==(const Unknown&) const = default;
};

using NotificationsEvent =
    std::variant<NotificationAccepted, NotificationFinished, BarrierRecord, Lease, Unknown>;
using SubscriptionsEvent = std::variant<ClientRecorded, ClientRemoved, ChannelRecorded,
                                        ChannelRemoved, BarrierRecord, Lease, Unknown>;

/// Decoding never fails: a record that cannot be decoded is `Unknown` with the reason, and the
/// caller counts it. The event's views point into `record` (and, for JSON values, into `scratch`).
struct DecodeScratch {
    std::string router_data;
    std::string vapid_sha256;
    std::string node;
    std::string role;
};
NotificationsEvent decode_notification(const RecordView& record, DecodeScratch& scratch);
SubscriptionsEvent decode_subscription(const RecordView& record, DecodeScratch& scratch);

}  // namespace beckon::core
