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
    post(std::make_shared<const HttpRequest>(fcm_request(options_, credentials_.project, attempt)),
         If401::once_more, std::move(done));
}

void FcmApp::post(std::shared_ptr<const HttpRequest> request, If401 then, Done done) {
    token_.get([this, request = std::move(request), then,
                done = std::move(done)](const auto& token) {
        if (!token) return done(token.error(), {});
        auto authorized = *request;
        authorized.headers.push_back("Authorization: Bearer " + *token);
        context_.send(std::move(authorized), lifetime_.guard([this, token = *token, request, then,
                                                              done](const HttpAnswer& answer) {
            const bool refused = answer.end == HttpAnswer::End::answered && answer.status == 401;
            if (refused) token_.drop(token);
            if (refused && then == If401::once_more) return post(request, If401::ends, done);
            done(judge_fcm(answer), answer.took);
        }));
    });
}

HttpRequest fcm_request(const FcmApp::Options& options, const std::string& project,
                        const BridgeApp::Attempt& attempt) {
    return {.url = options.url + "/v1/projects/" + project + "/messages:send",
            .headers = {"Content-Type: application/json"},
            .body = bridge::fcm_body(attempt.message, attempt.left),
            .timeout = kBridgeTimeout};
}

}  // namespace beckon::retry
