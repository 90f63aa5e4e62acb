#pragma once

#include "core/ids.hpp"
#include "retry/event/event.hpp"
#include "retry/webhook/webhook.hpp"

namespace beckon::retry {

/// The event that Beckon publishes when it disables a webhook
/// (docs/webhooks.md#beckons-own-events): other webhooks of the same owner can subscribe to it. Its
/// id is random.
Event disabled_event(const Webhook& webhook, const WebhookState& state, const core::NodeId& node);

}  // namespace beckon::retry
