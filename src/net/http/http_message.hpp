#pragma once

#include "core/enum_names.hpp"
#include "net/peer_address.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// HTTP messages as plain values, so that everything behind the sockets is tested without them.
namespace beckon::net {

/// A target's path, as it was sent, and the query behind its '?'.
struct Target {
    std::string_view path;
    std::string_view query;
};
Target split_target(std::string_view target);

/// "a=1&b=%32": names and values, decoded, in their order; without those that have no name.
std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query);
/// The same by name, for pages that people open: of a repeated name the first value counts.
std::map<std::string, std::string, std::less<>> query_by_name(std::string_view query);

/// HEAD is GET: HttpRequest::head tells them apart.
enum class Method : std::uint8_t { get, post, put, patch, del, options, other };
std::string_view to_string(Method method);
Method parse_method(std::string_view text);

/// The request headers that handlers read; all others are dropped while parsing.
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
    cookie,
    if_none_match,
    sec_fetch_site,   ///< which site makes a browser ask (W3C Fetch Metadata)
    sec_fetch_dest,   ///< what for
    forwarded_proto,  ///< X-Forwarded-Proto
};
inline constexpr std::size_t kHeaderNames = core::kCountOf<HeaderName>;

/// Any case; nullopt for a header that no handler reads.
std::optional<HeaderName> parse_header_name(std::string_view name);

/// The known headers of one request: the first occurrence counts; a value with
/// anything but printable ASCII and TAB makes the header absent. The last occurrence of `Forwarded`
/// and `X-Forwarded-For` counts, since the nearest proxy wrote it.
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
    /// True if the header is there but get() does not return it because of its bytes, which is not
    /// the same as an absent header.
    bool unreadable(HeaderName name) const {
        return slots_[static_cast<std::size_t>(name)].state == State::unreadable;
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
    /// It is HEAD, whose answer is that of GET without its body (RFC 9110 §9.3.2): the connection
    /// leaves the body out, and no handler needs to know.
    bool head = false;
    std::string_view target;  ///< as in the request line
    /// The host that is asked, perhaps with a port: that of the header `Host`, or of a target in
    /// absolute form, which counts before it (RFC 9112 §3.2.2). Empty: HTTP/1.0 without either.
    std::string_view authority;
    RequestHeaders headers;
    std::string_view body;  ///< as far as it was read
    /// The body exceeds the limit; it was not read to its end. A handler can still make other
    /// checks first.
    bool body_too_large = false;
    /// Headers whose name begins with `RequestLimits::extra_prefix`, in their order.
    std::vector<ExtraHeader> extra;
    bool body_length_given = false;  ///< there was a Content-Length
    bool http_1_0 = false;           ///< the peer knows no chunks
    PeerAddress peer;                ///< of the socket
};

struct ReplyHeader {
    std::string_view name;  ///< static storage
    std::string value;
    bool operator==(const ReplyHeader&) const = default;
};

/// The body of a reply that comes in pieces: values as they change, or a body too large to be held
/// as one text. The connection asks for the next piece when the last one is written, so a peer that
/// reads slowly lets nothing pile up. On the connection's thread only; destroyed with the
/// connection, or when it has ended.
class BodyStream {
public:
    virtual ~BodyStream() = default;

    enum class Next : std::uint8_t {
        piece,    ///< something was appended, and more may follow at once
        waiting,  ///< nothing now: `wake` is called when there is
        ended,    ///< the appended piece is the last one
    };
    /// Once, before next(). `wake` may be called at any time on the connection's thread, also from
    /// within next(), and after the connection's end, when it does nothing.
    virtual void start(std::function<void()> wake) = 0;
    /// Appends a piece of some 64 KiB at most to `out`, which is empty.
    virtual Next next(std::string& out) = 0;
};

/// Statuses of replies (RFC 9110 §15).
inline constexpr int kOk = 200;
inline constexpr int kAccepted = 202;
inline constexpr int kBadRequest = 400;
inline constexpr int kUnauthorized = 401;
inline constexpr int kNotFound = 404;
inline constexpr int kConflict = 409;
inline constexpr int kInternal = 500;
inline constexpr int kBadGateway = 502;
inline constexpr int kUnavailable = 503;

struct HttpReply {
    int status = kOk;
    std::vector<ReplyHeader> headers;
    std::string body;
    /// In place of `body`. A piece that is not written within `ConnectionTimes::request`, or does
    /// not come within it, ends the connection.
    std::shared_ptr<BodyStream> stream = nullptr;
    /// Kept until the reply is written, or its connection has ended: so its maker learns when the
    /// memory of the reply is free. It is dropped on the connection's thread.
    std::shared_ptr<const void> held = nullptr;

    void add(std::string_view name, std::string value) {
        headers.push_back({name, std::move(value)});
    }
    std::optional<std::string_view> header(std::string_view name) const;
    bool operator==(const HttpReply&) const = default;
};

/// A reply with a body of that media type.
HttpReply reply_of(int status, std::string type, std::string body);
HttpReply json_reply(int status, std::string text);

/// "Created", "I'm a teapot", …
std::string_view reason_phrase(int status);

/// How a reply is written.
struct ReplyForm {
    bool close = false;  ///< announce that the connection ends after it
    bool head = false;   ///< the answer to HEAD: without its body (RFC 9110 §9.3.2)
    /// A stream's framing: in chunks (RFC 9112 §7.1), or unframed until the connection ends, for a
    /// peer that does not know chunks.
    bool chunked = true;
};
/// Appends the reply as HTTP/1.1 bytes; of a stream only the head before its first piece. An Allow
/// that names GET gets HEAD beside it.
void append_reply(std::string& out, const HttpReply& reply, const ReplyForm& form = {});

/// One request and the place of its reply. Used on the thread of its connection only. A copy keeps
/// the request's memory alive, also when the peer is gone.
class Exchange {
public:
    virtual ~Exchange() = default;
    virtual const HttpRequest& request() const = 0;
    /// Exactly once; may be called from within the handler.
    virtual void reply(HttpReply reply) = 0;
};
using ExchangePtr = std::shared_ptr<Exchange>;

/// The OpenAPI documents of schemas/, which the binary contains: each port with an HTTP API serves
/// its own, so that clients can be generated for the build that answers. Any thread.

/// The path of the document at every port, without a token.
inline constexpr std::string_view kApiDocumentPath = "/openapi.yaml";

std::string_view endpoint_api_document();
std::string_view webhooks_api_document();
std::string_view console_api_document();

HttpReply api_document_reply(std::string_view document);

}  // namespace beckon::net
