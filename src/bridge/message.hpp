#pragma once

#include "core/ids.hpp"
#include "core/record.hpp"
#include "core/result.hpp"
#include "records/events.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Messages of clients that FCM or APNs reaches, as the endpoint passes them to the role retry
/// (docs/formats/retry.md#bridged-messages). Pure functions, any thread.
namespace beckon::bridge {

/// The recipient of a message, as the client registered.
struct Recipient {
    core::RouterType type = core::RouterType::fcm;  ///< fcm or apns
    std::string app;                                ///< the app id, or the release channel
    std::string token;
    std::string aps{};  ///< APNs: a JSON object of the client's own in place of ours; or empty
    bool operator==(const Recipient&) const = default;
};

/// From a client's record. Errors: not_found (no token, or no app, in the router data).
core::Result<Recipient> recipient_of(core::RouterType type, std::string_view router_data);

/// One push message on its way to a bridge. It carries the client's token, so that its delivery
/// needs no view of the clients.
struct BridgedMessage {
    core::Uaid uaid{};
    core::MessageKey key{};
    std::string message_id;  ///< the tail of `Location`
    core::ChannelId channel{};
    Recipient to{};
    std::uint32_t ttl_s = 0;
    std::optional<std::string> topic{};
    std::optional<core::Urgency> urgency{};
    std::optional<std::string> encoding{};
    std::optional<std::string> encryption{};
    std::optional<std::string> crypto_key{};
    std::optional<std::string> reliability_id{};
    std::optional<std::string> traceparent{};
    std::string source{};  ///< node id of the endpoint
    std::string body{};    ///< raw bytes as sent, may be empty
    bool operator==(const BridgedMessage&) const = default;
};

BridgedMessage bridged_message(const core::NotificationAccepted& event, Recipient to);

/// The record of `retry.0`, a delivery: key is the UAID, so a client's messages share a partition.
core::Record encode(const BridgedMessage& message);

/// Whether a delivery of that id is a bridged message, and not an event for a webhook.
bool is_bridged(std::string_view delivery_id);
/// From a delivery's id, key and value. Errors: corrupt (naming the missing member).
core::Result<BridgedMessage> parse_bridged(std::string_view delivery_id, std::string_view uaid,
                                           std::string_view event);

}  // namespace beckon::bridge
