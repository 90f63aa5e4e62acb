#pragma once

#include "net/peer_address.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// HTTP messages as plain values, so that everything behind the sockets is tested without them.
namespace beckon::net {

enum class Method : std::uint8_t { get, head, post, put, patch, del, options, other };
std::string_view to_string(Method method);
Method parse_method(std::string_view text);

/// The request headers that anything here looks at; all others are dropped while parsing.
enum class HeaderName : std::uint8_t {
    authorization,
    crypto_key,
    ttl,
    topic,
    urgency,
    content_encoding,
    content_type,
    encryption,
    message_id,
    traceparent,
    origin,
    request_method,   ///< Access-Control-Request-Method
    request_headers,  ///< Access-Control-Request-Headers
    forwarded,
    x_forwarded_for,
    accept,
};
inline constexpr std::size_t kHeaderNames = 16;

/// Any case; nullopt for a header that nobody here reads.
std::optional<HeaderName> parse_header_name(std::string_view name);

/// The known headers of one request: the first occurrence counts; a value with
/// anything but printable ASCII and TAB makes the header absent. Of `Forwarded` and
/// `X-Forwarded-For` the last occurrence counts, since that is the nearest proxy's.
class RequestHeaders {
public:
    void clear() { *this = {}; }
    /// The views must outlive this object.
    void add(HeaderName name, std::string_view value);
    void add(std::string_view name, std::string_view value) {
        if (const auto known = parse_header_name(name)) add(*known, value);
    }
    std::optional<std::string_view> get(HeaderName name) const {
        const auto& slot = slots_[static_cast<std::size_t>(name)];
        if (slot.state != State::present) return std::nullopt;
        return slot.value;
    }

private:
    enum class State : std::uint8_t { absent, unreadable, present };
    struct Slot {
        std::string_view value;
        State state = State::absent;
    };
    std::array<Slot, kHeaderNames> slots_{};
};

/// A header that a port reads by its own names; as it was sent.
struct ExtraHeader {
    std::string_view name;
    std::string_view value;
};

/// One request; views into the connection's buffers, valid until its reply was given.
struct HttpRequest {
    Method method = Method::other;
    std::string_view target;  ///< as in the request line
    RequestHeaders headers;
    std::string_view body;  ///< as far as it was read
    /// The body exceeds the limit; it was not read to its end. Whoever checks other things first
    /// still can.
    bool body_too_large = false;
    /// Headers whose name begins with `RequestLimits::extra_prefix`, in their order.
    std::vector<ExtraHeader> extra;
    bool body_length_given = false;  ///< there was a Content-Length
    PeerAddress peer;                ///< of the socket
};

struct ReplyHeader {
    std::string_view name;  ///< static storage
    std::string value;
    bool operator==(const ReplyHeader&) const = default;
};

struct HttpReply {
    int status = 200;
    std::vector<ReplyHeader> headers;
    std::string body;

    void add(std::string_view name, std::string value) {
        headers.push_back({name, std::move(value)});
    }
    std::optional<std::string_view> header(std::string_view name) const;
    bool operator==(const HttpReply&) const = default;
};

/// "Created", "I'm a teapot", …
std::string_view reason_phrase(int status);

/// How a reply is written.
struct ReplyForm {
    bool close = false;  ///< announce that the connection ends after it
    bool head = false;   ///< the answer to HEAD: without its body (RFC 9110 §9.3.2)
};
/// Appends the reply as HTTP/1.1 bytes.
void append_reply(std::string& out, const HttpReply& reply, const ReplyForm& form = {});

/// One request and the place of its reply. Used on the thread of its connection only. Whoever
/// holds one keeps the request's memory alive, also when the peer is gone.
class Exchange {
public:
    virtual ~Exchange() = default;
    virtual const HttpRequest& request() const = 0;
    /// Exactly once; may be called from within the handler.
    virtual void reply(HttpReply reply) = 0;
};
using ExchangePtr = std::shared_ptr<Exchange>;

}  // namespace beckon::net
