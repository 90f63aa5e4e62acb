#pragma once

#include "core/lifetime.hpp"
#include "retry/attempt/bridge/bridge_app.hpp"
#include "retry/attempt/bridge/provider_token.hpp"

#include <string>

namespace beckon::retry {

/// APNs for one release channel: HTTP/2, many requests on one connection.
class ApnsApp final : public BridgeApp {
public:
    static constexpr const char* kUrl = "https://api.push.apple.com";
    static constexpr const char* kSandboxUrl = "https://api.sandbox.push.apple.com";

    struct Options {
        std::string url{};  ///< empty: Apple's, by the credentials
    };
    ApnsApp(ApnsCredentials credentials, Options options, BridgeAppContext context);

    void send(const Attempt& attempt, Done done) override;

private:
    const ApnsCredentials credentials_;
    const Options options_;
    const BridgeAppContext context_;
    ProviderToken token_;
    core::Lifetime lifetime_;
};

/// Whether a device token may stand in a URL: letters, digits, `-`, `_` and `:`, at most 200.
bool is_device_token(std::string_view token);
/// The request of one attempt without its `authorization`. Pure.
HttpRequest apns_request(const ApnsApp::Options& options, const std::string& topic,
                         const BridgeApp::Attempt& attempt);

}  // namespace beckon::retry
