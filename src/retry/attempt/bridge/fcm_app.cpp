#include "retry/attempt/bridge/fcm_app.hpp"

#include "bridge/payload.hpp"

#include <utility>

namespace beckon::retry {

FcmApp::FcmApp(FcmCredentials credentials, Options options, BridgeAppContext context)
    : credentials_(std::move(credentials)),
      options_(std::move(options)),
      context_(std::move(context)),
      token_(credentials_, context_.clock, context_.send,
             [this](bool good) { context_.observer.token_renewed(core::RouterType::fcm, good); }) {}

void FcmApp::send(const Attempt& attempt, Done done) {
    token_.get([this, request = fcm_request(options_, credentials_.project, attempt),
                done = std::move(done)](const auto& token) {
        if (!token) return done(token.error(), {});
        post(*token, request, done);
    });
}

void FcmApp::post(const std::string& token, HttpRequest request, const Done& done) {
    request.headers.push_back("Authorization: Bearer " + token);
    context_.send(std::move(request), lifetime_.guard([this, done](const HttpAnswer& answer) {
        if (answer.end == HttpAnswer::End::answered && answer.status == 401) token_.drop();
        done(judge_fcm(answer), answer.took);
    }));
}

HttpRequest fcm_request(const FcmApp::Options& options, const std::string& project,
                        const BridgeApp::Attempt& attempt) {
    return {.url = options.url + "/v1/projects/" + project + "/messages:send",
            .headers = {"Content-Type: application/json"},
            .body = bridge::fcm_body(attempt.message, attempt.left),
            .timeout = kBridgeTimeout};
}

}  // namespace beckon::retry
