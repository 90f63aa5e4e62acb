#pragma once

#include "core/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

enum class Method : std::uint8_t { post, put, options };
/// As in the request line.
inline const char* to_string(Method method) {
    return method == Method::post ? "POST" : method == Method::put ? "PUT" : "OPTIONS";
}

/// One request. There are no redirects and no other schemes than http and https. Neither URL,
/// target nor a header has a control character: such a request is not sent.
struct HttpRequest {
    std::string url;
    Method method = Method::post;
    std::vector<std::string> headers{};  ///< "Name: value"
    std::string body{};
    core::Duration timeout = std::chrono::seconds{15};  ///< from start to the answer's last byte
    /// Path and query of the request line, where they were signed; empty: as libcurl has them of
    /// the URL.
    std::string target{};
    /// The owner that is charged for the lookup of its host's name; empty: Beckon itself.
    std::string owner{};
};

/// How it went.
struct HttpAnswer {
    static constexpr std::size_t kBodyKept = 1'024;

    enum class End : std::uint8_t {
        answered,     ///< `status` is set
        timed_out,    ///< the deadline passed first
        unreachable,  ///< no address, no connection, reset, TLS failed; `why` names which
        forbidden,    ///< the guard allows none of the addresses
        too_large,    ///< the answer was cut off
        not_allowed,  ///< the receiver's answer to the handshake allows no events
        /// No request could be made: a control character, a header without a name, or an
        /// exception; `why` says which.
        unsendable,
    };
    End end = End::unreachable;
    int status = 0;
    std::optional<std::chrono::seconds> retry_after{};
    std::string why{};             ///< for people; neither URL nor body
    std::string location{};        ///< of a redirect: its target, as the receiver wrote it
    std::string allowed_origin{};  ///< its header WebHook-Allowed-Origin
    std::string body{};            ///< its first bytes, for the attempt log
    core::Duration took{};
    /// The processor time that the sender's thread has used for it, beside that within send().
    core::Duration processor{};
};

/// Answers later, exactly once.
using SendRequest = std::function<void(HttpRequest, std::function<void(HttpAnswer)>)>;

/// Whether a text has an octet below 0x20, or 0x7f.
bool has_control_character(std::string_view text);

/// The reason why a request cannot be sent; empty: it can. A control character in any text that
/// goes to libcurl would end a header, or the request, and begin another one of its author's choice
/// (RFC 9110 §5.5).
std::string_view unsendable(const HttpRequest& request);

/// Seconds or an HTTP date (RFC 9110 §10.2.3), at most a week; nullopt if it is neither.
std::optional<std::chrono::seconds> parse_retry_after(std::string_view value, core::Timestamp now);

}  // namespace beckon::retry
