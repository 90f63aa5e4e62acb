#pragma once

#include "client/api_client.hpp"
#include "core/result.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace beckon::tools {

/// The steps of a demo, on the terminal as they happen, or as one JSON object at the end.
class DemoSteps {
public:
    explicit DemoSteps(bool json) : json_(json) {}

    void title(const std::string& text) const;
    void add(const std::string& name, std::chrono::steady_clock::duration took,
             const std::string& detail = "");
    /// Prints the outcome and returns the exit code. `what` and `where`: name and value of the
    /// member of the JSON object that names the server. `good`: the last line if all steps
    /// succeeded.
    int finish(const core::Result<void>& done, const char* what, const std::string& where,
               const char* good) const;

private:
    const bool json_;
    nlohmann::json steps_ = nlohmann::json::array();
};

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

/// `beckon demo --webhooks`: an event travels to a webhook, with the time of each step; then one
/// whose receiver fails at first.
/// `options`: `timeout` and `json`. 0 only if every event arrived as it was posted, and signed.
int run_webhook_demo(const client::ApiClient::Options& api, const DemoOptions& options);

}  // namespace beckon::tools
