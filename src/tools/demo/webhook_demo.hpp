#pragma once

#include "client/api_client.hpp"

#include <chrono>

namespace beckon::tools {

/// `beckon demo --webhooks`: an event travels to a webhook, with the time of each step; then one
/// whose receiver fails at first.
struct WebhookDemoOptions {
    client::ApiClient::Options api;
    std::chrono::milliseconds timeout{15'000};  ///< for each step
    bool json = false;                          ///< one JSON object at the end, no steps
};

/// 0 only if every event arrived as it was posted, and signed.
int run_webhook_demo(const WebhookDemoOptions& options);

}  // namespace beckon::tools
