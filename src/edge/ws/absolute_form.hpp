#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace beckon::edge {

/// The largest head of a request: libwebsockets ends a connection with a larger one.
inline constexpr std::size_t kHttpHeadMax = 16'384;

/// Decides whether libwebsockets or this edge itself answers a request, by the bytes of its head
/// that have come. libwebsockets refuses a target in absolute form (RFC 9112 §3.2.2) with 403
/// before it calls the edge, unless the request is an upgrade; so the edge answers these requests
/// itself. It parses such a head once, when its end has come: a client that sends it byte by byte
/// makes each call look for the end alone.
struct HeadVerdict {
    enum class Kind : std::uint8_t {
        incomplete,  ///< not decided yet: more bytes must come
        library,     ///< libwebsockets answers it
        plain,       ///< a request without an upgrade for `path`, whose target is in absolute form
        refused,     ///< in absolute form, and ambiguous or malformed: 400
    };
    Kind kind;
    std::string path{};     ///< of `plain`
    std::size_t bytes = 0;  ///< of `plain` and `refused`: to take from the connection
};
HeadVerdict judge_head(std::string_view head);

}  // namespace beckon::edge
