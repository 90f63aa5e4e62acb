#pragma once

#include "net/http/http_message.hpp"

#include <functional>
#include <map>
#include <string>

namespace beckon::retry {

/// One request with memory of its own, so that it can go to another thread.
struct ApiRequest {
    net::Method method = net::Method::other;
    std::string target;
    std::string authorization;
    std::string content_type;
    /// Headers `ce-…`: names in lower case, without `ce-`.
    std::multimap<std::string, std::string> ce;
    std::string body;
    bool body_too_large = false;
};

/// Takes the reply to a request, once.
using ApiReply = std::function<void(net::HttpReply)>;

}  // namespace beckon::retry
