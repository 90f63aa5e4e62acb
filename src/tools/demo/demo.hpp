#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace beckon::tools {

/// `beckon demo`: one push travels, with the time of each step; then one that is sent while the
/// client is away.
struct DemoOptions {
    std::string url = "ws://127.0.0.1:8080/";  ///< ws or wss
    bool insecure = false;                     ///< take any TLS certificate, at both ends
    std::optional<std::filesystem::path> ca_file = std::nullopt;  ///< PEM to trust
    std::string text = "Hello from Beckon";
    bool vapid = true;                          ///< sign, and restrict the subscription to the key
    std::chrono::milliseconds timeout{15'000};  ///< for each step
    bool json = false;                          ///< one JSON object at the end, no steps
    bool webhooks = false;                      ///< an event instead: see tools/demo/webhook_demo
};

/// 0 only if every step succeeded and every text arrived unchanged.
int run_demo(const DemoOptions& options);

}  // namespace beckon::tools
