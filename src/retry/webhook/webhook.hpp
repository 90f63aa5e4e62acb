#pragma once

#include "core/clock.hpp"
#include "core/key_ring.hpp"
#include "core/record.hpp"
#include "core/result.hpp"
#include "records/own_event.hpp"
#include "retry/attempt/http_request.hpp"
#include "retry/attempt/signature.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

enum class Encoding : std::uint8_t { json, multipart };

/// The form of the event in a request (CloudEvents HTTP binding, section 3): as one JSON object, or
/// its attributes in headers and its data as the body. The latter goes with neither multipart nor
/// attachments.
enum class ContentMode : std::uint8_t { structured, binary };

/// A subscriber to events, as its owner made it (docs/webhooks.md). A value; `filter` and the
/// attachments have been compiled once when it was accepted.
struct Webhook {
    std::string id;     ///< 32 hex digits
    std::string owner;  ///< the owner, who may see and change it
    std::string url;
    Method method = Method::post;
    Encoding encoding = Encoding::json;
    ContentMode mode = ContentMode::structured;
    std::map<std::string, std::string> form_fields;  ///< multipart: sent before the payload
    std::string payload_field = "payload";           ///< multipart: the event's part
    std::vector<std::string> types;  ///< of events, `order.*` for all that begin so; empty: every
    std::string filter;              ///< JSON text of the query; empty: everything
    std::map<std::string, std::string> attachments;  ///< name → expression
    /// The owner's own headers, sent with each request; their values are secret.
    std::map<std::string, std::string> headers{};
    std::vector<std::string> secrets{};     ///< raw bytes, the newest first
    std::optional<SharedKey> shared_key{};  ///< HTTP Signatures in place of Standard Webhooks
    bool ordered = false;
    std::size_t at_a_time = 64;  ///< attempts
    std::chrono::seconds timeout{15};
    /// By which the receiver is asked whether it takes events (docs/webhooks.md#handshake); empty:
    /// it is not asked.
    std::string request_origin{};
    std::string description;
    core::Timestamp created{};
    bool operator==(const Webhook&) const = default;
};

/// Whether deliveries are attempted. A record of its own, since others write it than the owner.
struct WebhookState {
    bool enabled = true;
    std::string reason{};  ///< why not: "gone", "failing", "by its owner", "by an operator"
    std::optional<core::Timestamp> failing_since{};
    /// When it was enabled again, in the log's time: failures before do not count.
    std::optional<core::Timestamp> enabled_at{};
    /// Of a record that enables it: `enabled_at` is when the log takes it.
    bool enabled_now = false;
    bool operator==(const WebhookState&) const = default;
};

/// The reason of a webhook that its owner has disabled.
inline constexpr std::string_view kDisabledByOwner = "by its owner";
/// Of one that an operator has disabled, at the console.
inline constexpr std::string_view kDisabledByOperator = "by an operator";
inline bool is_disabled_by_failure(const WebhookState& state) {
    return !state.enabled && state.reason != kDisabledByOwner &&
           state.reason != kDisabledByOperator;
}

/// The event that says that a webhook was disabled: other webhooks of its owner can subscribe to it
/// (docs/webhooks.md#beckons-own-events).
core::OwnEvent disabled_event(const Webhook& webhook, const WebhookState& state);

/// A webhook's filter had no result for an event, since its evaluation took more steps than the
/// owner's filters may take of one event. A record of its own, since others write it than the
/// state.
struct CostlyFilter {
    std::string filter;    ///< filter_digest() of the filter that was evaluated
    core::Timestamp at{};  ///< append time of the event
    std::string source;    ///< of the event
    std::string event;     ///< its id
    bool operator==(const CostlyFilter&) const = default;
};

/// Names a filter: 32 hex digits, of its text.
std::string filter_digest(std::string_view filter);

/// Encrypts secrets for the log and back: AES-256-GCM under a key that is derived from the key
/// ring, bound to the webhook's id. One thread.
class SecretBox {
public:
    explicit SecretBox(std::shared_ptr<const core::KeyRing> keys);
    std::string seal(std::string_view secret, std::string_view webhook) const;
    /// Errors: unauthorized (no key of the ring opens it, or it is another webhook's).
    core::Result<std::string> open(std::string_view sealed, std::string_view webhook) const;

private:
    std::shared_ptr<const core::KeyRing> keys_;
};

/// The records of `webhooks`: keys `<id>`, `<id>/state` and `<id>/filter`; a null value: it is
/// gone.
core::Record encode(const Webhook& webhook, const SecretBox& box);
core::Record encode_removed(std::string_view id);
core::Record encode(std::string_view id, const WebhookState& state);
core::Record encode_state_removed(std::string_view id);
core::Record encode(std::string_view id, const CostlyFilter& filter);
core::Record encode_filter_removed(std::string_view id);
/// Errors: corrupt, unauthorized (the secrets do not open with this key ring).
core::Result<Webhook> decode_webhook(const core::RecordView& record, const SecretBox& box);
core::Result<WebhookState> decode_webhook_state(const core::RecordView& record);
core::Result<CostlyFilter> decode_costly_filter(const core::RecordView& record);

}  // namespace beckon::retry
