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

/// Host and port of a URL, as the caps of the scheduler count them; "" if the text is no URL.
std::string host_of(const std::string& url);

}  // namespace beckon::retry
