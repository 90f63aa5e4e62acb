#include "retry/attempt/bridge/apns_app.hpp"

#include "bridge/payload.hpp"
#include "core/ascii.hpp"

#include <utility>

namespace beckon::retry {

using std::chrono::duration_cast;
using std::chrono::seconds;

namespace {

constexpr std::size_t kDeviceTokenMax = 200;

ApnsApp::Options with_url(ApnsApp::Options options, bool sandbox) {
    if (options.url.empty()) options.url = sandbox ? ApnsApp::kSandboxUrl : ApnsApp::kUrl;
    return options;
}

/// Zero: Apple tries once and keeps nothing, as TTL 0 asks (RFC 8030 §5.2).
std::string expiration_of(const BridgeApp::Attempt& attempt) {
    if (attempt.message.ttl_s == 0) return "0";
    return std::to_string(duration_cast<seconds>(attempt.expires.time_since_epoch()).count());
}

}  // namespace

ApnsApp::ApnsApp(ApnsCredentials credentials, Options options, BridgeAppContext context)
    : credentials_(std::move(credentials)),
      options_(with_url(std::move(options), credentials_.sandbox)),
      context_(std::move(context)),
      token_(credentials_) {}

void ApnsApp::send(const Attempt& attempt, Done done) {
    if (!is_device_token(attempt.message.to.token)) {
        return done({BridgeOutcome::gone, {}, "the token is no device token"}, {});
    }
    const auto before = token_.renewals();
    auto request = apns_request(options_, credentials_.topic, attempt);
    request.headers.push_back("authorization: bearer " + token_.at(context_.clock.wall()));
    if (token_.renewals() != before) context_.observer.token_renewed(core::RouterType::apns, true);
    context_.send(std::move(request),
                  lifetime_.guard([this, done = std::move(done)](const HttpAnswer& answer) {
                      auto verdict = judge_apns(answer);
                      if (verdict.outcome == BridgeOutcome::unauthorized) token_.refused();
                      done(std::move(verdict), answer.took);
                  }));
}

bool is_device_token(std::string_view token) {
    return !token.empty() && token.size() <= kDeviceTokenMax && core::is_alphanumeric(token, "-_:");
}

HttpRequest apns_request(const ApnsApp::Options& options, const std::string& topic,
                         const BridgeApp::Attempt& attempt) {
    const auto& message = attempt.message;
    return {
        .url = options.url + "/3/device/" + message.to.token,
        .headers = {"apns-topic: " + topic, "apns-push-type: alert", "apns-priority: 10",
                    "apns-expiration: " + expiration_of(attempt),
                    "apns-id: " + core::to_dashed(message.key), "content-type: application/json"},
        .body = bridge::apns_body(message),
        .timeout = kBridgeTimeout};
}

}  // namespace beckon::retry
