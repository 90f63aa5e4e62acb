#include "retry/attempt/fcm_app.hpp"

#include "bridge/payload.hpp"

#include <utility>

namespace beckon::retry {

namespace {

BridgeVerdict without_token(const core::Error& error) {
    switch (error.fault) {
        case core::Fault::unauthorized: return {BridgeOutcome::unauthorized, {}, error.message};
        case core::Fault::timed_out: return {BridgeOutcome::timed_out, {}, error.message};
        case core::Fault::invalid:
        case core::Fault::not_found:
        case core::Fault::too_large:
        case core::Fault::conflict:
        case core::Fault::out_of_range:
        case core::Fault::full:
        case core::Fault::unavailable:
        case core::Fault::corrupt: break;
    }
    return {BridgeOutcome::unreachable, {}, error.message};
}

}  // namespace

FcmApp::FcmApp(FcmCredentials credentials, Options options, BridgeAppContext context)
    : credentials_(std::move(credentials)),
      options_(std::move(options)),
      context_(std::move(context)),
      token_(credentials_, context_.clock, context_.send,
             [this](bool good) { context_.observer.token_renewed(core::RouterType::fcm, good); }) {}

void FcmApp::send(const Attempt& attempt, Done done) {
    token_.get([this, request = fcm_request(options_, credentials_.project, attempt),
                done = std::move(done)](const core::Result<std::string>& token) {
        if (!token) return done(without_token(token.error()), {});
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
