#pragma once

#include "core/result.hpp"

#include <string>

namespace beckon::retry {

/// The form in which a request names its receiver (RFC 9112 §3.2), which a signature over it must
/// cover.
struct RequestTarget {
    std::string host;  ///< of `Host`: an internationalised name in its ASCII form, and the port
                       ///< unless it is the scheme's own
    std::string path;  ///< of the request line: path and query
    bool operator==(const RequestTarget&) const = default;
};

/// The target of an http or https URL, as libcurl reads it. A request has it in this form if its
/// maker puts it into `Host` and `HttpRequest::target`. Errors: invalid (no URL, or a host name
/// that has no ASCII form).
core::Result<RequestTarget> request_target(const std::string& url);

/// The URL as it may stand in a request: its host's name in the ASCII form, which libcurl needs
/// where the thread's character set is not UTF-8, and the octets that RFC 3986 does not allow in
/// path and query percent-encoded. As it is if its host has no such form, or it has user info.
std::string in_ascii(const std::string& url);

}  // namespace beckon::retry
