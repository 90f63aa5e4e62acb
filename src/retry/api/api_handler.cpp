#include "retry/api/api_handler.hpp"

#include "core/ascii.hpp"
#include "retry/api/problem.hpp"

#include <utility>

namespace beckon::retry {

namespace {

using net::HeaderName;

ApiRequest copy_of(const net::HttpRequest& request) {
    ApiRequest out{
        .method = request.method,
        .target = std::string{request.target},
        .authorization = std::string{request.headers.get(HeaderName::authorization).value_or("")},
        .content_type = std::string{request.headers.get(HeaderName::content_type).value_or("")},
        .ce = {},
        .body = std::string{request.body},
        .body_too_large = request.body_too_large};
    for (const auto& [name, value] : request.extra) {
        out.ce.emplace(core::lower(name.substr(Api::kExtraPrefix.size())), value);
    }
    return out;
}

}  // namespace

ApiHandler::ApiHandler(core::Executor& loop, Ask ask, std::function<void(int)> replied)
    : ask_(std::move(ask)), replied_(std::move(replied)), lifetime_(loop) {}

void ApiHandler::handle(net::ExchangePtr exchange) {
    const auto number = next_++;
    auto request = copy_of(exchange->request());
    open_.emplace(number, std::move(exchange));
    ask_(std::move(request), [this, number, back = lifetime_.remote()](net::HttpReply answer) {
        back.post([this, number, answer = std::move(answer)]() mutable {
            reply(number, std::move(answer));
        });
    });
}

void ApiHandler::reply(std::uint64_t number, net::HttpReply answer) {
    const auto found = open_.find(number);
    if (found == open_.end()) return;
    const auto exchange = std::move(found->second);
    open_.erase(found);
    replied_(answer.status);
    exchange->reply(std::move(answer));
}

net::HttpReply ApiHandler::rejection(net::Rejection why) {
    auto answer = rejection_reply(why);
    replied_(answer.status);
    return answer;
}

}  // namespace beckon::retry
