#pragma once

#include "retry/attempt/bridge/access_token.hpp"
#include "retry/attempt/bridge/bridge_app.hpp"

#include <string>

namespace beckon::retry {

/// FCM's HTTP v1 API for one app.
class FcmApp final : public BridgeApp {
public:
    struct Options {
        std::string url = "https://fcm.googleapis.com";
    };
    FcmApp(FcmCredentials credentials, Options options, BridgeAppContext context);

    void send(const Attempt& attempt, Done done) override;

private:
    void post(const std::string& token, HttpRequest request, const Done& done);

    const FcmCredentials credentials_;
    const Options options_;
    const BridgeAppContext context_;
    AccessToken token_;
    core::Lifetime lifetime_;
};

/// The request of one attempt without its `Authorization`. Pure.
HttpRequest fcm_request(const FcmApp::Options& options, const std::string& project,
                        const BridgeApp::Attempt& attempt);

}  // namespace beckon::retry
