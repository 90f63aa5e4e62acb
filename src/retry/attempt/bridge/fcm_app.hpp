#pragma once

#include "retry/attempt/bridge/access_token.hpp"
#include "retry/attempt/bridge/bridge_app.hpp"

#include <memory>
#include <string>

namespace beckon::retry {

/// FCM's HTTP v1 API for one app. An access token may be revoked before its end: a request that is
/// answered 401 is made once more with another token, so that those under way with a revoked one do
/// not fail.
class FcmApp final : public BridgeApp {
public:
    struct Options {
        std::string url = "https://fcm.googleapis.com";
    };
    FcmApp(FcmCredentials credentials, Options options, BridgeAppContext context);

    void send(const Attempt& attempt, Done done) override;

private:
    enum class If401 { once_more, ends };
    void post(std::shared_ptr<const HttpRequest> request, If401 then, Done done);

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
