#pragma once

#include "core/clock.hpp"
#include "net/io_loop.hpp"
#include "retry/attempt/address_guard.hpp"
#include "retry/attempt/host_list.hpp"
#include "retry/attempt/name_lookups.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

enum class Method : std::uint8_t { post, put };

/// One request. There are no redirects and no other schemes than http and https. Neither URL,
/// target nor a header has a control character: such a request is not sent.
struct HttpRequest {
    std::string url;
    Method method = Method::post;
    std::vector<std::string> headers;  ///< "Name: value"
    std::string body;
    core::Duration timeout = std::chrono::seconds{15};  ///< from start to the answer's last byte
    /// Path and query of the request line, where they were signed; empty: as libcurl has them of
    /// the URL.
    std::string target{};
    /// Whose share of the lookups of names it takes; empty: Beckon's own.
    std::string owner{};
};

/// How it went.
struct HttpAnswer {
    enum class End : std::uint8_t {
        answered,     ///< `status` is set
        timed_out,    ///< the deadline passed first
        unreachable,  ///< no address, no connection, reset, TLS failed; `why` names which
        forbidden,    ///< the guard allows none of the addresses
        too_large,    ///< the answer was cut off
        unsendable,   ///< the request has a control character, or a header without a name
    };
    End end = End::unreachable;
    int status = 0;
    std::optional<std::chrono::seconds> retry_after{};
    std::string why{};       ///< for people; neither URL nor body
    std::string location{};  ///< of a redirect: its target, as the receiver wrote it
    std::string body{};      ///< its first bytes, for the attempt log
    core::Duration took{};
};

/// Sends requests with libcurl on the loop's thread, many at a time, and keeps connections. Names
/// are looked up by NameLookups: libcurl itself would wait for its resolver's thread when a request
/// is over, and hold up the loop. Each connect is allowed or refused for the very address that it
/// goes to.
class HttpSender {
public:
    static constexpr std::size_t kAnswerBytesMax = std::size_t{256} * 1024;
    static constexpr std::size_t kHeaderBytesMax = std::size_t{64} * 1024;
    /// Of all bytes that come in for an attempt, whatever they are: TLS, chunk extensions,
    /// trailers, compressed bodies. Besides headers and body, 768 KiB may be such bytes: more than
    /// TLS and chunks add to an answer whose receiver sends some 20 bytes at a time. More is
    /// too_large.
    static constexpr std::size_t kReceivedBytesMax =
        kAnswerBytesMax + kHeaderBytesMax + std::size_t{768} * 1024;
    static constexpr std::size_t kBodyKept = 1'024;

    struct Options {
        AddressGuard guard{};
        /// Receivers that may have private addresses; no proxy is asked for them.
        HostList inside{};
        /// `http://host:port`, through which everything else goes; empty: none. Then it is the
        /// proxy that decides which addresses a name may lead to.
        std::string proxy{};
        std::string ca_file{};              ///< PEM, besides the system's; empty: none
        std::size_t connections_max = 256;  ///< that are kept
        std::string user_agent = "Beckon";
        /// HTTP/2 where the receiver offers it in TLS (ALPN): many requests on one connection.
        bool http2 = false;
        std::size_t body_kept = kBodyKept;  ///< of an answer
        NameLookups::LookUp look_up = system_addresses;
        /// An owner's requests have taken so much processor time of the loop's thread; called on
        /// it. May be empty.
        std::function<void(const std::string& owner, core::Duration)> used{};
    };

    /// Throws std::runtime_error if libcurl does not start, or if the user agent has a control
    /// character.
    HttpSender(Options options, net::IoLoop& loop);
    /// Aborts requests under way, without an answer.
    ~HttpSender();

    /// Answers later, on the loop's thread, exactly once.
    void send(HttpRequest request, std::function<void(HttpAnswer)> done);
    std::size_t under_way() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The reason why a request cannot be sent; empty: it can. A control character in any text that
/// goes to libcurl would end a header, or the request, and begin another one of its author's choice
/// (RFC 9110 §5.5).
std::string_view unsendable(const HttpRequest& request);

/// Seconds or an HTTP date (RFC 9110 §10.2.3), at most a week; nullopt if it is neither.
std::optional<std::chrono::seconds> parse_retry_after(std::string_view value, core::Timestamp now);

}  // namespace beckon::retry
