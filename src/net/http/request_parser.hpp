#pragma once

#include "net/http/http_message.hpp"
#include "net/http/http_server.hpp"

#include <cstddef>
#include <memory>
#include <string_view>

namespace beckon::net {

/// Turns the bytes of one request after the other into HttpRequests (Beast's parser inside).
/// Stores only the parts that a handler reads: the target, the known headers, the body up to its
/// limit. Reusable, and keeps its memory: one per request that is under way, not per connection.
class RequestParser {
public:
    enum class Status : std::uint8_t {
        need_more,
        complete,
        /// The body is over its limit: the request can be judged, but its remaining bytes on the
        /// connection were not read.
        body_too_large,
        header_too_large,
        bad_host,  ///< no Host header in an HTTP/1.1 request, or several
        bad_request,
    };

    explicit RequestParser(const RequestLimits& limits);
    ~RequestParser();

    /// Starts the next request.
    void reset();
    /// Memory that the next request would find.
    std::size_t kept_bytes() const;
    /// Takes bytes; `used` is their number. The rest belongs to the next call.
    Status put(std::string_view bytes, std::size_t& used);

    /// The client waits for "100 Continue" before it sends the body.
    bool wants_continue() const;
    /// True after the request is complete if the connection may go on.
    bool keep_alive() const;

    /// Valid once complete (or body_too_large), until reset().
    HttpRequest& request() { return request_; }

private:
    struct Impl;

    const RequestLimits limits_;
    std::unique_ptr<Impl> impl_;
    HttpRequest request_;
};

}  // namespace beckon::net
