#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace beckon::client {

/// An absolute http, https, ws or wss URL, taken apart.
struct Url {
    std::string scheme;  ///< lower case
    std::string host;    ///< without brackets
    std::uint16_t port = 0;
    std::string target;  ///< path and query, at least "/"

    bool tls() const { return scheme == "https" || scheme == "wss"; }
    /// `scheme://host[:port]`, a default port left out: the audience of a VAPID token.
    std::string origin() const;
    std::string text() const { return origin() + target; }
    /// `host[:port]` as it stands in `Host`.
    std::string authority() const;
    bool operator==(const Url&) const = default;
};

/// `invalid`, naming what is allowed. User info and fragments are refused.
core::Result<Url> parse_url(std::string_view text);

/// The URL of a WebSocket server. Errors: invalid, naming the fault, or that it must begin with
/// ws:// or wss://.
core::Result<Url> parse_ws_url(const std::string& text);

}  // namespace beckon::client
