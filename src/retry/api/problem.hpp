#pragma once

#include "core/enum_names.hpp"
#include "core/result.hpp"
#include "net/http/http_message.hpp"
#include "net/http/http_server.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

/// The API's refusals of requests: `application/problem+json` (RFC 9457).
namespace beckon::retry {

enum class Problem : std::uint8_t {
    bad_request,         ///< not HTTP/1.1
    invalid,             ///< the body or a value is wrong; `detail` begins with the JSON path
    unauthorized,        ///< no token, or one that is not ours
    forbidden,           ///< the token does not allow it
    not_found,           ///< no such webhook, or another owner's
    unknown_route,       ///< nothing is at this path
    method_not_allowed,  ///< the path does not allow this method
    limit,               ///< the owner's webhooks, or all, are as many or as large as they may be
    too_large,           ///< the body
    unsupported_type,    ///< of the body
    too_many_requests,   ///< of this owner
    header_too_large,
    too_slow,
    not_ready,         ///< the role is starting, or stopping
    not_saved,         ///< the log has not confirmed the record, or earlier changes took too long
    served_elsewhere,  ///< another node has it
    internal           ///< an exception while it was served: the fault is ours
};
/// The `code` in the body.
inline std::string_view to_string(Problem problem) { return core::name_of(problem); }

/// `detail`: the fault of this request and what is allowed; for people. `again`: where a later
/// request may be served, after how long.
net::HttpReply problem_reply(Problem problem, std::string_view detail,
                             std::chrono::seconds again = std::chrono::seconds{1});
/// The reply after an error of the log.
net::HttpReply failure_reply(const core::Error& error);
/// 405, with the allowed methods.
net::HttpReply wrong_method(std::string_view allowed);
/// The reply to a request whose handling threw.
net::HttpReply thrown_reply();
/// The reply to a request that the server refuses by itself.
net::HttpReply rejection_reply(net::Rejection why);

using net::json_reply;

}  // namespace beckon::retry
