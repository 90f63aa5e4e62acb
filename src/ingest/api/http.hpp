#pragma once

#include "net/http/http_message.hpp"
#include "net/http/http_server.hpp"

#include <string_view>

/// The HTTP server's types by their short names.
namespace beckon::ingest {

using net::append_reply;
using net::Exchange;
using net::ExchangePtr;
using net::HeaderName;
using net::HttpReply;
using net::HttpRequest;
using net::Method;
using net::parse_method;
using net::reason_phrase;
using net::RequestHeaders;

/// `Vary` of every reply: CORS headers depend on these.
inline constexpr std::string_view kVary =
    "Origin, Access-Control-Request-Method, Access-Control-Request-Headers";

}  // namespace beckon::ingest
