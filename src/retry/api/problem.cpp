#include "retry/api/problem.hpp"

#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;

namespace {

int status_of(Problem problem) {
    switch (problem) {
        case Problem::bad_request: return 400;
        case Problem::invalid: return 400;
        case Problem::unauthorized: return 401;
        case Problem::forbidden: return 403;
        case Problem::not_found: return 404;
        case Problem::unknown_route: return 404;
        case Problem::method_not_allowed: return 405;
        case Problem::limit: return 409;
        case Problem::too_large: return 413;
        case Problem::unsupported_type: return 415;
        case Problem::too_many_requests: return 429;
        case Problem::header_too_large: return 431;
        case Problem::too_slow: return 408;
        case Problem::not_ready: return 503;
        case Problem::not_saved: return 503;
        case Problem::served_elsewhere: return 503;
        case Problem::internal: return 500;
    }
    return 500;
}

}  // namespace

net::HttpReply problem_reply(Problem problem, std::string_view detail, std::chrono::seconds again) {
    const auto status = status_of(problem);
    auto reply =
        net::reply_of(status, "application/problem+json",
                      core::json_text(nlohmann::ordered_json{{"status", status},
                                                             {"title", net::reason_phrase(status)},
                                                             {"code", to_string(problem)},
                                                             {"detail", detail}}));
    if (status == 503 || status == 429) reply.add("Retry-After", std::to_string(again.count()));
    if (status == 401) reply.add("WWW-Authenticate", "Bearer");
    return reply;
}

net::HttpReply failure_reply(const core::Error& error) {
    if (error.fault == Fault::too_large) return problem_reply(Problem::too_large, error.message);
    if (error.fault == Fault::invalid) return problem_reply(Problem::invalid, error.message);
    return problem_reply(Problem::not_saved,
                         "the log has not confirmed it (" +
                             std::string{core::to_string(error.fault)} +
                             "): it may be there or not; the same request may be made again");
}

net::HttpReply wrong_method(std::string_view allowed) {
    const std::string text{allowed};
    auto reply = problem_reply(Problem::method_not_allowed, "allowed here: " + text);
    reply.add("Allow", text);
    return reply;
}

net::HttpReply thrown_reply() {
    return problem_reply(Problem::internal,
                         "this request failed at the server, whose log says why");
}

net::HttpReply rejection_reply(net::Rejection why) {
    switch (why) {
        case net::Rejection::bad_request:
            return problem_reply(Problem::bad_request, "the request is not valid HTTP/1.1");
        case net::Rejection::bad_host:
            return problem_reply(Problem::bad_request,
                                 "a request must have exactly one Host header");
        case net::Rejection::header_too_large:
            return problem_reply(Problem::header_too_large,
                                 "the header is larger than 16384 bytes");
        case net::Rejection::too_slow:
            return problem_reply(Problem::too_slow, "the request did not arrive in time");
        case net::Rejection::too_many_connections:
            return problem_reply(Problem::not_ready, "too many connections; try again later");
        case net::Rejection::stopping:
            return problem_reply(Problem::not_ready, "the server is stopping");
        case net::Rejection::failed: return thrown_reply();
    }
    return problem_reply(Problem::not_ready, "try again later");
}

}  // namespace beckon::retry
