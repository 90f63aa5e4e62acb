#pragma once

#include "core/clock.hpp"
#include "records/delivery.hpp"
#include "retry/attempt/http_request.hpp"
#include "retry/webhook/webhook.hpp"

#include <string>

namespace beckon::retry {

/// The request of one attempt (docs/webhooks.md#requests). `event`: what the delivery names, if it
/// does not carry its event. Pure; `now` is the host's wall time, which the receiver compares with
/// its own.
HttpRequest build_request(const Webhook& webhook, const Delivery& delivery, core::Timestamp now,
                          const EventText& event = nullptr);

/// The request that asks the receiver whether it takes events of the webhook's `request_origin`
/// (docs/webhooks.md#handshake). Pure.
HttpRequest build_handshake(const Webhook& webhook);
/// Whether the answer to it says so. Its header alone counts: a server that knows nothing of the
/// handshake may answer any request with 200 (HTTP 1.1 Web Hooks for Event Delivery, section 4).
bool allows_events(const HttpAnswer& answer, const Webhook& webhook);

/// Host and port of a URL, as the caps of the scheduler count them; "" if the text is no URL.
std::string host_of(const std::string& url);

}  // namespace beckon::retry
