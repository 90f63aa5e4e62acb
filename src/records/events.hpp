#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

/// The events of the log topics, as C++ types. `codec.hpp` turns them into records and back;
/// `schemas/` describes them for other programs.
///
/// Text members are views: of the request or state they are published from, or of the RecordView
/// they were decoded from. An event therefore lives as long as the call it is handed to.
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
std::string_view to_string(FinishReason reason);
std::optional<FinishReason> parse_finish_reason(std::string_view text);

/// beckon.notification.finished.v1: a tombstone. Only its key matters to a fold, as to compaction;
/// one without a reason that we know decodes as `dropped`.
struct NotificationFinished {
    Uaid uaid{};
    MessageKey key{};
    FinishReason reason = FinishReason::acked;
    std::string_view source{};
    bool operator==(const NotificationFinished&) const = default;
};

/// Orders the writes to one key of `subscriptions` (docs/design.md#late-writes): the greater
/// (epoch, seq) wins. Records of bridged clients carry none and fold in offset order.
struct WriteStamp {
    Epoch epoch = 0;
    std::uint64_t seq = 0;
    auto operator<=>(const WriteStamp&) const = default;
};

enum class RouterType : std::uint8_t { webpush, fcm, apns, webhook };
std::string_view to_string(RouterType type);
std::optional<RouterType> parse_router_type(std::string_view text);

/// beckon.client.v1: key <uaid>.
struct ClientRecorded {
    Uaid uaid{};
    RouterType router_type = RouterType::webpush;
    std::optional<std::string_view> router_data{};  ///< JSON object as text, bridged clients only
    Timestamp created{};
    Timestamp last_seen{};
    std::optional<WriteStamp> stamp{};
    bool operator==(const ClientRecorded&) const = default;
};

/// beckon.client.v1 with a null value: the client is gone. Its channels are dead from here
/// on.
struct ClientRemoved {
    Uaid uaid{};
    std::optional<WriteStamp> stamp{};
    bool operator==(const ClientRemoved&) const = default;
};

/// beckon.channel.v1: key <uaid>/<chid>. Published after its client's record.
struct ChannelRecorded {
    Uaid uaid{};
    ChannelId channel{};
    Timestamp created{};
    std::optional<std::string_view> vapid_sha256{};  ///< hex, 64 characters
    std::optional<WriteStamp> stamp{};
    bool operator==(const ChannelRecorded&) const = default;
};

/// beckon.channel.v1 with a null value.
struct ChannelRemoved {
    Uaid uaid{};
    ChannelId channel{};
    std::optional<WriteStamp> stamp{};
    bool operator==(const ChannelRemoved&) const = default;
};

/// beckon.mark.v1: `!mark/<node>`; proves to its writer that it has read everything before it
/// (docs/design.md#read-barriers).
struct BarrierRecord {
    std::string_view node{};
    bool operator==(const BarrierRecord&) const = default;
};

/// beckon.lease.v1: `!lease/<epoch>/<node>`, in `ownership` `controller/<role>/<epoch>/<node>`.
struct Lease {
    Epoch epoch = 0;
    std::string_view node{};
    std::string_view role{};  ///< "edge", "retry", …
    bool removed = false;     ///< a tombstone: the winner clears leases of lower epochs
    bool operator==(const Lease&) const = default;
};

/// A record of a type or key form that this build does not know. Counted and skipped, never fatal.
struct Unknown {
    std::string_view why{};
    bool operator==(const Unknown&) const = default;
};

using NotificationsEvent =
    std::variant<NotificationAccepted, NotificationFinished, BarrierRecord, Lease, Unknown>;
using SubscriptionsEvent = std::variant<ClientRecorded, ClientRemoved, ChannelRecorded,
                                        ChannelRemoved, BarrierRecord, Lease, Unknown>;

template <class... Fs>
struct Overloaded : Fs... {
    using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace beckon::core
