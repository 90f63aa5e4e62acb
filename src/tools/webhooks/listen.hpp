#pragma once

#include "tools/webhooks/webhooks_tool.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace beckon::tools {

struct WebhookListenOptions {
    std::uint16_t port = 0;  ///< of 127.0.0.1; 0: any free one
    std::string secret;      ///< empty: a webhook is made for this receiver, and deleted at the end
    std::vector<std::string> types;
    std::size_t count = 0;       ///< stop after so many different deliveries; 0: never
    std::size_t fail_first = 0;  ///< so many requests are answered 500, to see them again
    std::optional<std::chrono::milliseconds> timeout;
};

/// A receiver of webhooks that checks the signature (Standard Webhooks) and prints each event. Exit
/// code 0; 1 if the time-out came first.
int run_webhook_listen(const app::Config& config, const ApiAccess& access,
                       const WebhookListenOptions& options);

}  // namespace beckon::tools
