#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace beckon::edge {

/// The largest head of a request: libwebsockets ends a connection with a larger one.
inline constexpr std::size_t kHttpHeadMax = 16'384;

/// Who answers a request, by the bytes of it that have come. libwebsockets refuses a target in
/// absolute form (RFC 9112 §3.2.2) with 403 unless the request is an upgrade, before it asks
/// anybody, so such a request is answered without it.
struct HeadVerdict {
    enum class Kind : std::uint8_t {
        incomplete,  ///< more bytes decide
        library,     ///< libwebsockets
        plain,       ///< a request without an upgrade for `path`, whose target is in absolute form
        refused,     ///< in absolute form, but without one meaning: 400
    };
    Kind kind;
    std::string path{};     ///< of `plain`
    std::size_t bytes = 0;  ///< to take from the connection, of the last two
};
HeadVerdict judge_head(std::string_view head);

}  // namespace beckon::edge
