#pragma once

#include "client/url.hpp"
#include "core/result.hpp"

#include <string>

namespace beckon::cli {

/// The URL of a WebSocket server. Errors: invalid, with what is wrong or that it must begin with
/// ws:// or wss://.
core::Result<client::Url> parse_ws_url(const std::string& text);

}  // namespace beckon::cli
